/* The fused recurrences: forward and backward over a whole sequence in one call.
 *
 * All fields are 64 bits wide, in the order in which Python packs them (src/eigenloop/recurrence/kernel_calls.py).
 * Arrays are float or double as the caller says; "t, b strides" count elements between time steps and between sequences
 * of an array whose last dimension is contiguous. An optional array is null where it is absent or not wanted.
 *
 * Every call returns 0, or -1 where memory for the workspace could not be had; nothing is written then.
 */
#ifndef EIGENLOOP_KERNEL_H
#define EIGENLOOP_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EL_EXPORT __attribute__((visibility("default")))

/* EL_COMPLEX_MODRELU, of the simple recurrence only: the n numbers of a row are n / 2 pairs of a real and an imaginary
 * part, and `threshold` has an entry for each. */
enum { EL_IDENTITY, EL_RELU, EL_LEAKY_RELU, EL_TANH, EL_MODRELU, EL_COMPLEX_MODRELU };
enum { EL_PORTABLE, EL_AVX2, EL_AVX512 };

/* h_t = f(W h_{t-1} + U x_t + shift), f = modReLU with `threshold`, ... */
typedef struct {
    int64_t T, B, n, m; /* m = 0: x is U x already, (T, B, n), and U is null */
    int64_t activation, reverse, threads;
    double slope; /* leaky_relu's */
    const void *x;
    int64_t x_t, x_b;
    const void *U;                 /* (n, m) */
    const void *W;                 /* (n, n) */
    const void *shift, *threshold; /* (n), optional */
    const void *h0;                /* (B, n) */
    const int64_t *lengths;        /* (B), optional */
    void *out;                     /* (T, B, n) contiguous, zero at padded steps */
    void *h_n;                     /* (B, n) */
    void *moduli;                  /* (T, B, n / 2) |z| of every pair, for the backward pass of modReLU on pairs only */
    /* backward only */
    const void *grad_out; /* optional */
    int64_t grad_out_t, grad_out_b;
    const void *grad_h_n; /* (B, n), optional */
    void *grad_x;         /* as x but contiguous; this and the following optional */
    void *grad_U, *grad_W, *grad_shift, *grad_threshold, *grad_h0;
    /* rounding.h; not for pairs */
    int64_t bits;     /* of every state; 0: not rounded */
    const void *step; /* one number */
    void *grad_step;  /* backward; optional */
    void *slopes;     /* (T, B, n) dq/ds of every state, for grad_step; null: not kept */
    const void *input_step; /* of x, which is rounded before the product with U; null: it is not; m > 0 */
    void *grad_input_step;  /* backward; optional */
} el_simple;

/* r = sigmoid(W_r h + U_r x + shift_r), u alike; c = f(W_c (r * h) + U_c x + shift_c) with the reset before the product,
 * c = f(r * (W_c h + inner) + U_c x + shift_c) after it; h' = u h + (1 - u) c (keep) or (1 - u) h + u c (write). */
typedef struct {
    int64_t T, B, n, m; /* m = 0: x is (T, B, 3n) already multiplied */
    int64_t activation, reverse, threads;
    double slope;
    int64_t before, keep;
    int64_t shift_gates; /* how many gates `shift` has entries for: 2 or 3 */
    const void *x;
    int64_t x_t, x_b;
    const void *U;                         /* (3n, m): reset, update, candidate */
    const void *W;                         /* (3n, n) */
    const void *shift, *threshold, *inner; /* (shift_gates n), (n), (n), optional */
    const void *h0;
    const int64_t *lengths;
    void *out, *h_n;
    void *gates; /* (T, B, 3n) r, u, c, and a fourth n for W_c h + inner with the reset after; null: not kept */
    /* backward only */
    const void *grad_out;
    int64_t grad_out_t, grad_out_b;
    const void *grad_h_n;
    void *grad_x, *grad_U, *grad_W, *grad_shift, *grad_threshold, *grad_inner, *grad_h0;
    /* rounding.h; `gates` are kept as they are before rounding */
    int64_t bits; /* of gates, candidate, r * h and state; 0: not rounded */
    const void *step;
    void *grad_step;
    const void *input_step; /* as above */
    void *grad_input_step;
} el_gated;

/* Steps between two cells of an LSTM that are kept; those between follow from the gates. */
#define EL_CELL_STEPS 8

/* i = sigmoid(W_i h + U_i x + shift_i), f and o alike, g = k(W_g h + U_g x + shift_g); c' = f c + i g, h' = o tanh c'.
 * k is tanh, or another activation; modReLU has its `threshold`. */
typedef struct {
    int64_t T, B, n, m; /* m = 0: x is (T, B, 4n) already multiplied */
    int64_t activation, reverse, threads;
    double slope;
    const void *x;
    int64_t x_t, x_b;
    const void *U;                 /* (4n, m): input, forget, cell, output */
    const void *W;                 /* (4n, n) */
    const void *shift, *threshold; /* (4n), (n), optional */
    const void *h0, *c0;           /* (B, n) */
    const int64_t *lengths;
    void *out;           /* (T, B, n) */
    void *h_n, *c_n;     /* (B, n) */
    void *gates;         /* (T, B, 4n) i, f, g, o of every step; null: not kept */
    void *cells;         /* (ceil(T / EL_CELL_STEPS) + 1, B, n) c before every so many steps as they are visited, and at the end */
    /* backward only */
    const void *grad_out;
    int64_t grad_out_t, grad_out_b;
    const void *grad_h_n, *grad_c_n;
    void *grad_x, *grad_U, *grad_W, *grad_shift, *grad_threshold, *grad_h0, *grad_c0;
    /* rounding.h; `gates` are kept as they are before rounding */
    int64_t bits; /* of gates, candidate, cell and state; 0: not rounded */
    const void *step; /* of the cell, and of a candidate other than tanh; all else is in [-1, 1] */
    void *grad_step;
    const void *input_step; /* as above */
    void *grad_input_step;
} el_lstm;

/* The widest instruction set that this machine runs. */
EL_EXPORT int el_best_variant(void);

/* variant: at most el_best_variant(); wide: 0 for float, 1 for double. */
EL_EXPORT int el_simple_forward(const el_simple *call, int variant, int wide);
EL_EXPORT int el_simple_backward(const el_simple *call, int variant, int wide);
EL_EXPORT int el_gated_forward(const el_gated *call, int variant, int wide);
EL_EXPORT int el_gated_backward(const el_gated *call, int variant, int wide);
EL_EXPORT int el_lstm_forward(const el_lstm *call, int variant, int wide);
EL_EXPORT int el_lstm_backward(const el_lstm *call, int variant, int wide);

/* sizeof, so that a caller notices a binary that was built from other sources. */
EL_EXPORT int64_t el_simple_size(void);
EL_EXPORT int64_t el_gated_size(void);
EL_EXPORT int64_t el_lstm_size(void);

/* Bytes that are kept between calls for the workspace, and giving them back. */
EL_EXPORT int64_t el_workspace_bytes(void);
EL_EXPORT void el_release_workspace(void);

#ifdef __cplusplus
}
#endif
#endif
