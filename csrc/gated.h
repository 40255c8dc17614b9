/* The gated recurrence of GRU, NC-GRU and GORU over a sequence. Equations and fields: el_gated in kernel.h.
 *
 * A row of `gates` holds r, u and c side by side, n numbers each without gaps, and W_c h + inner where the reset comes
 * after the product. So does a row of our own scratch: the products with the stacked matrices are then few and wide,
 * of 3n columns for the input and of 2n for the two gates.
 */

typedef struct {
    REAL *input, *projected, *state, *next;              /* forward */
    REAL *z, *scaled, *gates;                            /* forward; z: 3n a row; scaled: r * h, or W_c h */
    REAL *rounded;                                       /* forward: gates on their grid, 3n a row */
    REAL *dh, *pulled, *dz, *inner, *packed_rows, *dx;   /* backward; dz: 3n a row; inner: r * dc */
    REAL *products;                                      /* backward: r * h of a block */
    REAL *grad_W, *grad_U, *grad_shift, *grad_threshold, *grad_inner, *pad;
    REAL *grad_step; /* n numbers to be added up */
    const REAL **rows;
} FN(gated_part);

typedef struct {
    const el_gated *call;
    int parts, few;
    int64_t steps;
    REAL *gates_W, *candidate_W, *U, *shift, *inner;
    FN(grid) grid;
    FN(input) input;
    FN(gated_part) part[EL_MOST_PARTS];
} FN(gated_run);

/* Distance between rows of three gates: a product of the candidate's n columns alone fills whole vectors. */
TARGET static inline int64_t FN(three)(int64_t n) { return FN(stride)(2 * n + FN(padded)(n)); }

/* C (M x N) = start + A V^T for N rows of V, given packed and as they lie in memory. */
TARGET static void FN(gate_product)(const FN(gated_run) *run, int64_t M, int64_t N, int64_t K, const REAL *a,
                                    int64_t lda, const REAL *packed, const REAL *V, REAL *c, int64_t ldc,
                                    const REAL *start, int64_t ldstart) {
    if (run->few)
        FN(multiply_few)(M, N, K, a, lda, V, c, ldc, start, ldstart);
    else
        FN(multiply)(M, N, K, a, lda, packed, c, ldc, start, ldstart);
}

/* h' from h, u and c. */
TARGET static void FN(mix_row)(int64_t keep, int64_t n, const REAL *restrict h, const REAL *restrict u,
                               const REAL *restrict c, REAL *restrict next) {
    if (keep)
        for (int64_t j = 0; j < n; j++) next[j] = u[j] * h[j] + (1 - u[j]) * c[j];
    else
        for (int64_t j = 0; j < n; j++) next[j] = (1 - u[j]) * h[j] + u[j] * c[j];
}

TARGET static void FN(multiply_rows)(int64_t n, const REAL *restrict a, const REAL *restrict b, REAL *restrict c) {
    for (int64_t j = 0; j < n; j++) c[j] = a[j] * b[j];
}

/* c = p + r * q, q = W_c h + inner. The product wrote q; p is what U x gave. */
TARGET static void FN(reset_row)(int64_t n, const REAL *restrict p, const REAL *restrict r, const REAL *restrict q,
                                 REAL *restrict c) {
    for (int64_t j = 0; j < n; j++) c[j] = p[j] + r[j] * q[j];
}

TARGET static void FN(gated_step)(const FN(gated_run) *run, const FN(gated_part) *mine, int64_t t, int64_t from,
                                  int64_t R, const REAL *projected, const REAL *h, REAL *next) {
    const el_gated *call = run->call;
    const int64_t B = call->B, n = call->n, ld = FN(stride)(n), wide = FN(three)(n), *lengths = call->lengths;
    const REAL *given = call->m > 0 ? NULL : (const REAL *)call->x + t * call->x_t + from * call->x_b;
    const REAL *W = call->W, *start = projected ? projected : run->shift;
    const int64_t ldp = projected ? wide : 0;
    REAL *z = mine->z, *q = mine->scaled, *out = (REAL *)call->out + (t * B + from) * n;
    /* Gates go to where they are kept, or to scratch of the same shape. */
    const int64_t kept = call->before ? 3 : 4;
    REAL *gates = call->gates ? (REAL *)call->gates + (t * B + from) * kept * n : mine->gates;
    /* What is multiplied with: the gates, or these on their grid. */
    REAL *used = call->bits ? mine->rounded : gates;
    const int64_t ldu = (call->bits ? 3 : kept) * n;
    FN(gate_product)(run, R, 2 * n, n, h, ld, run->gates_W, W, z, wide, start, ldp);
    if (!call->before) FN(gate_product)(run, R, n, n, h, ld, run->candidate_W, W + 2 * n * n, q, ld, run->inner, 0);
    for (int64_t r = 0; r < R; r++) {
        REAL *row = z + r * wide, *gate = gates + r * kept * n;
        if (!el_valid(lengths, t, from + r)) {
            memset(gate, 0, (size_t)(kept * n) * sizeof(REAL));
            continue;
        }
        if (given) FN(add_row)(2 * n, row, given + r * call->x_b);
        FN(sigmoid_row)(2 * n, row, gate);
        if (call->bits) FN(gates_to_grid)(run->grid, 2 * n, gate, used + r * ldu);
        if (!call->before) {
            memcpy(gate + 3 * n, q + r * ld, (size_t)n * sizeof(REAL));
            FN(reset_row)(n, start + r * ldp + 2 * n, used + r * ldu, gate + 3 * n, row + 2 * n);
        } else if (call->bits) {
            FN(product_to_grid)(run->grid, n, used + r * ldu, h + r * ld, q + r * ld);
        } else {
            FN(multiply_rows)(n, gate, h + r * ld, q + r * ld);
        }
    }
    if (call->before)
        FN(gate_product)(run, R, n, n, q, ld, run->candidate_W, W + 2 * n * n, z + 2 * n, wide, start + 2 * n, ldp);
    for (int64_t r = 0; r < R; r++) {
        REAL *argument = z + r * wide + 2 * n, *gate = gates + r * kept * n;
        if (!el_valid(lengths, t, from + r)) { /* the state stops here */
            memcpy(next + r * ld, h + r * ld, (size_t)n * sizeof(REAL));
            memset(out + r * n, 0, (size_t)n * sizeof(REAL));
            continue;
        }
        if (given) FN(add_row)(n, argument, given + r * call->x_b + 2 * n);
        FN(activate)(call->activation, (REAL)call->slope, n, argument, call->threshold, gate + 2 * n);
        REAL *u = used + r * ldu + n, *c = u + n;
        if (call->bits) FN(row_to_grid)(run->grid, n, gate + 2 * n, c);
        FN(mix_row)(call->keep, n, h + r * ld, u, c, next + r * ld);
        if (call->bits) {
            memcpy(c, next + r * ld, (size_t)n * sizeof(REAL));
            FN(blend_to_grid)(run->grid, n, c, next + r * ld);
        }
        memcpy(out + r * n, next + r * ld, (size_t)n * sizeof(REAL));
    }
}

TARGET static void FN(gated_forward_part)(void *context, int index) {
    const FN(gated_run) *run = context;
    const el_gated *call = run->call;
    const FN(gated_part) *mine = &run->part[index];
    const int64_t T = call->T, B = call->B, n = call->n, m = call->m, ld = FN(stride)(n), wide = FN(three)(n);
    const int64_t from = el_slice(B, run->parts, index), to = el_slice(B, run->parts, index + 1), R = to - from;
    const REAL *h0 = call->h0;
    REAL *h = mine->state, *next = mine->next;
    for (int64_t r = 0; r < R; r++) memcpy(h + r * ld, h0 + (from + r) * n, (size_t)n * sizeof(REAL));
    for (int64_t first = 0; first < T; first += run->steps) {
        const int64_t last = el_smaller(T, first + run->steps), count = (last - first) * R;
        if (m > 0) {
            FN(gather_input)(&run->input, first, last, from, to, mine->input);
            FN(gate_product)(run, count, 3 * n, m, mine->input, m, run->U, call->U, mine->projected, wide, run->shift, 0);
        }
        for (int64_t i = first; i < last; i++) {
            const REAL *projected = m > 0 ? mine->projected + (i - first) * R * wide : NULL;
            FN(gated_step)(run, mine, el_time(T, i, call->reverse), from, R, projected, h, next);
            REAL *const previous = h;
            h = next;
            next = previous;
        }
    }
    for (int64_t r = 0; r < R; r++)
        memcpy((REAL *)call->h_n + (from + r) * n, h + r * ld, (size_t)n * sizeof(REAL));
}

TARGET static void FN(gated_forward_layout)(FN(gated_run) *run, el_block *block) {
    const el_gated *call = run->call;
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), wide = FN(three)(n);
    const int64_t R = el_most_rows(call->B, run->parts);
    const size_t real = sizeof(REAL);
    run->shift = el_cut(block, (size_t)wide * real);
    run->inner = el_cut(block, (size_t)ld * real);
    run->gates_W = run->few ? NULL : el_cut(block, (size_t)(n * FN(padded)(2 * n)) * real);
    run->candidate_W = run->few ? NULL : el_cut(block, (size_t)(n * FN(padded)(n)) * real);
    run->U = run->few ? NULL : el_cut(block, (size_t)(m * FN(padded)(3 * n)) * real);
    for (int p = 0; p < run->parts; p++) {
        FN(gated_part) *part = &run->part[p];
        part->state = el_cut(block, (size_t)(R * ld) * real);
        part->next = el_cut(block, (size_t)(R * ld) * real);
        part->z = el_cut(block, (size_t)(R * wide) * real);
        part->scaled = el_cut(block, (size_t)(R * ld) * real);
        part->gates = el_cut(block, call->gates ? 0 : (size_t)(R * 4 * n) * real);
        part->rounded = el_cut(block, call->bits ? (size_t)(R * 3 * n) * real : 0);
        part->input = el_cut(block, (size_t)(run->steps * R * m) * real);
        part->projected = el_cut(block, m > 0 ? (size_t)(run->steps * R * wide) * real : 0);
    }
}

TARGET static int FN(gated_forward)(const el_gated *call) {
    FN(gated_run) run = {.call = call, .input = INPUT_OF(call)};
    if (call->bits) run.grid = FN(grid_of)(call->bits, call->step);
    const int64_t n = call->n, m = call->m, wide = FN(three)(n), shifted = call->shift ? call->shift_gates * n : 0;
    run.parts = el_parts(call->T, call->B, 3 * n * (n + m), el_smaller(call->threads, EL_MOST_PARTS));
    run.steps = el_block_steps(call->T, el_most_rows(call->B, run.parts));
    run.few = call->T * el_most_rows(call->B, run.parts) <= FEW_ROWS;
    el_block block = {0};
    FN(gated_forward_layout)(&run, &block);
    void *base = el_borrow(block.used);
    if (!base) return -1;
    block = (el_block){.base = base};
    FN(gated_forward_layout)(&run, &block);
    FN(padded_row)(call->inner, n, run.inner);
    for (int64_t j = 0; j < wide; j++) run.shift[j] = j < shifted ? ((const REAL *)call->shift)[j] : 0;
    if (!run.few) {
        FN(pack_transposed)(n, 2 * n, call->W, run.gates_W);
        FN(pack_transposed)(n, n, (const REAL *)call->W + 2 * n * n, run.candidate_W);
        if (m > 0) FN(pack_transposed)(m, 3 * n, call->U, run.U);
    }
    const size_t states = (size_t)(call->T * call->B * n) * sizeof(REAL);
    el_will_fill(call->out, states);
    if (call->gates) el_will_fill(call->gates, states * (call->before ? 3 : 4));
    el_parallel(run.parts, FN(gated_forward_part), &run);
    el_return(base);
    return 0;
}
