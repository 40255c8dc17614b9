/* The kernel on its own, for the sanitizers: random sizes against loops written out in dual numbers, whose second parts
 * are the slope of everything along one random direction; several callers at once, and a child after fork. Prints a sentence and returns 1 if anything differs. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel.h"
#include "pool.h"

static uint64_t seed;

static double uniform(void) { /* in (-1, 1) */
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(seed >> 11) / 4503599627370496.0 - 1.0;
}

static int64_t whole(int64_t low, int64_t high) { return low + (int64_t)((uniform() + 1) / 2 * (double)(high - low + 1)); }

static int failed(const char *what, double error) {
    printf("%s: off by %g\n", what, error);
    return 1;
}

/* A block of doubles, the direction in which slopes are taken, and its copy in the precision of the call. Sized exactly,
 * so that a step over the end is seen. */
typedef struct {
    double *values, *direction;
    void *given;
    int64_t count;
} array;

static array make(int64_t count, double scale, int wide) {
    array a = {malloc((size_t)count * sizeof(double)), malloc((size_t)count * sizeof(double)),
               malloc((size_t)count * (wide ? 8 : 4)), count};
    for (int64_t i = 0; i < count; i++) {
        a.values[i] = scale * uniform();
        a.direction[i] = uniform();
        if (wide)
            ((double *)a.given)[i] = a.values[i];
        else
            a.values[i] = ((float *)a.given)[i] = (float)a.values[i];
    }
    return a;
}

static double at(array a, int wide, int64_t i) { return wide ? ((double *)a.given)[i] : (double)((float *)a.given)[i]; }

static void drop(array a) {
    free(a.values);
    free(a.direction);
    free(a.given);
}

/* One number, as nearly as the precision allows. */
static array number(double value, int wide) {
    array a = make(1, 0, wide);
    a.values[0] = wide ? value : (double)(float)value;
    if (wide)
        ((double *)a.given)[0] = value;
    else
        ((float *)a.given)[0] = (float)value;
    return a;
}

/* A value and its slope. */
typedef struct {
    double v, d;
} dual;

static dual entry(array a, int64_t i) { return (dual){a.values[i], a.direction[i]}; }
static dual plus(dual a, dual b) { return (dual){a.v + b.v, a.d + b.d}; }
static dual times(dual a, dual b) { return (dual){a.v * b.v, a.d * b.v + a.v * b.d}; }
static dual scaled(double factor, dual a) { return (dual){factor * a.v, factor * a.d}; }
static dual rest(dual a) { return (dual){1 - a.v, -a.d}; }
static dual tangent(dual a) { return (dual){tanh(a.v), a.d * (1 - tanh(a.v) * tanh(a.v))}; }

static dual activation(int64_t kind, double slope, dual z, dual b) {
    const double sign = z.v > 0 ? 1 : z.v < 0 ? -1 : 0;
    switch (kind) {
    case EL_RELU: return z.v > 0 ? z : (dual){0};
    case EL_LEAKY_RELU: return z.v > 0 ? z : scaled(slope, z);
    case EL_TANH: return tangent(z);
    case EL_MODRELU: return fabs(z.v) + b.v > 0 ? scaled(fabs(sign), plus(z, scaled(sign, b))) : (dual){0};
    default: return z;
    }
}

enum { SIMPLE, GATED, LSTM };
static const int64_t gate_count[] = {1, 3, 4};
static const char *const names[] = {"simple", "gated", "lstm"};

/* One problem for any recurrence. */
typedef struct {
    int recurrence, wide, variant;
    int64_t T, B, n, m, kind, reverse, threads, before, keep, shift_gates;
    double slope;
    int64_t bits; /* 0: nothing is rounded */
    array step, input_step;
    int rounds_input;
    array x, U, W, shift, threshold, inner, h0, c0, grad_out, grad_h_n, grad_c_n;
    int64_t *lengths;
} problem;

static problem draw(int recurrence, int wide, int variant, int64_t threads) {
    problem p = {.recurrence = recurrence, .wide = wide, .variant = variant, .threads = threads};
    p.T = whole(1, 9), p.B = whole(1, 9), p.n = whole(1, 40), p.m = whole(0, 5);
    /* Now and then more than one slab of the packed matrix, or more than one block of steps; not both, which takes long. */
    const int64_t lot = whole(0, 9);
    if (lot == 0) p.n = whole(500, 530), p.T = 3;
    if (lot == 1) p.T = whole(60, 90);
    p.kind = whole(0, 4), p.reverse = whole(0, 1), p.before = whole(0, 1), p.keep = whole(0, 1), p.slope = 0.1;
    if (recurrence == SIMPLE && whole(0, 4) == 0) p.kind = EL_COMPLEX_MODRELU, p.n += p.n % 2;
    const int64_t gates = gate_count[recurrence], wide_x = p.m > 0 ? p.m : gates * p.n;
    p.x = make(p.T * p.B * wide_x, 1, wide);
    p.U = make(gates * p.n * p.m, 1, wide);
    p.W = make(gates * p.n * p.n, 1 / sqrt((double)p.n), wide);
    p.shift_gates = recurrence == GATED ? whole(2, 3) : gates;
    p.shift = make(p.shift_gates * p.n, 0.3, wide);
    p.threshold = make(p.kind == EL_COMPLEX_MODRELU ? p.n / 2 : p.n, 0.3, wide);
    p.inner = make(p.n, 0.3, wide);
    p.h0 = make(p.B * p.n, 1, wide);
    p.c0 = make(p.B * p.n, 1, wide);
    p.grad_c_n = make(p.B * p.n, 1, wide);
    p.grad_out = make(p.T * p.B * p.n, 1, wide);
    p.grad_h_n = make(p.B * p.n, 1, wide);
    p.bits = p.kind != EL_COMPLEX_MODRELU && whole(0, 2) == 0 ? whole(6, 16) : 0;
    const double half = (double)(1 << (p.bits ? p.bits - 1 : 0));
    p.step = number(2.0 / half, wide); /* a power of two: exact in both precisions */
    p.rounds_input = p.bits && p.m > 0 && whole(0, 1);
    p.input_step = number(0.9 / half, wide); /* some of x is outside of the range */
    /* A float near a half may be rounded to either side, and the slope of a step jumps there. */
    if (p.bits && !wide) p.step.direction[0] = p.input_step.direction[0] = 0;
    if (whole(0, 1)) {
        p.lengths = malloc((size_t)p.B * sizeof(int64_t));
        for (int64_t b = 0; b < p.B; b++) p.lengths[b] = whole(1, p.T);
    }
    return p;
}

static void finish(problem p) {
    array all[] = {p.x, p.U, p.W, p.shift, p.threshold, p.inner, p.h0, p.c0, p.grad_out, p.grad_h_n, p.grad_c_n, p.step,
                   p.input_step};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) drop(all[i]);
    free(p.lengths);
}

/* Rounding as csrc/rounding.h has it, off where bits = 0. Straight through where the clamp does nothing; the step's slope is
 * that of LSQ. A strict clamp counts the ends of the range as outside. */
static dual on_grid(problem p, dual step, double margin, int strict, dual v) {
    if (!p.bits) return v;
    const double half = (double)(1 << (p.bits - 1)), code = floor(v.v / step.v + 0.5 + margin);
    const double k = fmin(fmax(code, -half), half - 1);
    const int inside = strict ? k > -half && k < half - 1 : code == k;
    return (dual){step.v * k, inside ? v.d + step.d * (k - v.v / step.v) : step.d * k};
}
static dual cell_on_grid(problem p, dual v) {
    /* An LSTM's tanh is not on the grid of the cell: the margin is smaller there. */
    const int finer = p.recurrence == LSTM && p.kind == EL_TANH;
    return on_grid(p, entry(p.step, 0), pow(2, -(double)(p.bits + (finer ? 5 : 1))), 0, v);
}
static dual state_on_grid(problem p, dual v) { return on_grid(p, entry(p.step, 0), 0, 0, v); }
static dual unit_on_grid(problem p, dual v) { return on_grid(p, (dual){pow(2, 1 - (double)p.bits), 0}, 0, 0, v); }

/* q(f(z)) of the simple recurrence, which knows its states only: f' of tanh is taken at the rounded state, and modReLU's
 * threshold gets nothing through a state that is rounded to zero. */
static dual simple_state(problem p, dual z, dual b) {
    dual value = activation(p.kind, p.slope, z, b);
    if (!p.bits) return value;
    const double state = state_on_grid(p, value).v;
    if (p.kind == EL_TANH) value.d = z.d * (1 - state * state);
    if (p.kind == EL_MODRELU && state == 0 && value.v != 0) value.d = z.d;
    return on_grid(p, entry(p.step, 0), 0, 1, value);
}

/* A gate. */
static dual sigmoid(problem p, dual z) {
    const double gate = 1 / (1 + exp(-z.v)), half = p.bits ? (double)(1 << (p.bits - 1)) : 0;
    return (dual){p.bits ? floor(gate * half + 0.5) / half : gate, z.d * gate * (1 - gate)};
}

static dual pre(problem p, int64_t gate, int64_t t, int64_t b, int64_t i, const dual *state) {
    dual z = gate < p.shift_gates ? entry(p.shift, gate * p.n + i) : (dual){0};
    for (int64_t k = 0; state && k < p.n; k++) z = plus(z, times(entry(p.W, (gate * p.n + i) * p.n + k), state[k]));
    if (p.m == 0) return plus(z, entry(p.x, (t * p.B + b) * gate_count[p.recurrence] * p.n + gate * p.n + i));
    for (int64_t k = 0; k < p.m; k++) {
        dual x = entry(p.x, (t * p.B + b) * p.m + k);
        if (p.rounds_input) x = on_grid(p, entry(p.input_step, 0), 0, 0, x);
        z = plus(z, times(entry(p.U, (gate * p.n + i) * p.m + k), x));
    }
    return z;
}

/* modReLU of pairs: entry i of z / |z| ReLU(|z| + b). */
static dual pair_modrelu(dual own, dual other, dual b) {
    const double size = hypot(own.v, other.v), length = size + b.v;
    if (!(size > 0) || !(length > 0)) return (dual){0};
    const double turn = (own.v * own.d + other.v * other.d) / size; /* the slope of the size */
    return (dual){own.v / size * length, (own.d - own.v * turn / size) / size * length + own.v / size * (turn + b.d)};
}

/* The next state of unit i; the cell of an LSTM is changed in place. */
static dual next_state(problem p, int64_t t, int64_t b, int64_t i, const dual *h, const dual *rh, dual *cell) {
    const dual threshold = p.kind == EL_COMPLEX_MODRELU ? entry(p.threshold, i / 2) : entry(p.threshold, i);
    if (p.recurrence == LSTM) {
        dual g = activation(p.kind, p.slope, pre(p, 2, t, b, i, h), threshold);
        g = p.kind == EL_TANH ? unit_on_grid(p, g) : state_on_grid(p, g);
        const dual kept = times(sigmoid(p, pre(p, 1, t, b, i, h)), *cell);
        *cell = cell_on_grid(p, plus(kept, times(sigmoid(p, pre(p, 0, t, b, i, h)), g)));
        return unit_on_grid(p, times(sigmoid(p, pre(p, 3, t, b, i, h)), tangent(*cell)));
    }
    if (p.kind == EL_COMPLEX_MODRELU) return pair_modrelu(pre(p, 0, t, b, i, h), pre(p, 0, t, b, i ^ 1, h), threshold);
    if (p.recurrence == SIMPLE) return simple_state(p, pre(p, 0, t, b, i, h), threshold);
    const dual u = sigmoid(p, pre(p, 1, t, b, i, h));
    dual z;
    if (p.before) {
        z = pre(p, 2, t, b, i, rh);
    } else {
        dual q = entry(p.inner, i);
        for (int64_t k = 0; k < p.n; k++) q = plus(q, times(entry(p.W, (2 * p.n + i) * p.n + k), h[k]));
        z = plus(pre(p, 2, t, b, i, NULL), times(sigmoid(p, pre(p, 0, t, b, i, h)), q));
    }
    const dual c = state_on_grid(p, activation(p.kind, p.slope, z, threshold));
    return cell_on_grid(p, p.keep ? plus(times(u, h[i]), times(rest(u), c)) : plus(times(rest(u), h[i]), times(u, c)));
}

/* The recurrence written out; returns <grad_out, out> + <grad_h_n, h_n> + <grad_c_n, c_n> and its slope. */
static dual reference(problem p, double *out, double *h_n) {
    const size_t row = (size_t)p.n * sizeof(dual);
    dual loss = {0}, *h = malloc(row), *next = malloc(row), *rh = malloc(row), *c = malloc(row);
    for (int64_t b = 0; b < p.B; b++) {
        for (int64_t i = 0; i < p.n; i++) h[i] = entry(p.h0, b * p.n + i), c[i] = entry(p.c0, b * p.n + i);
        for (int64_t s = 0; s < p.T; s++) {
            const int64_t t = p.reverse ? p.T - 1 - s : s, place = (t * p.B + b) * p.n;
            const int valid = !p.lengths || t < p.lengths[b];
            for (int64_t i = 0; i < p.n && valid && p.recurrence == GATED && p.before; i++)
                rh[i] = cell_on_grid(p, times(h[i], sigmoid(p, pre(p, 0, t, b, i, h))));
            for (int64_t i = 0; i < p.n && valid; i++) next[i] = next_state(p, t, b, i, h, rh, &c[i]);
            if (valid) memcpy(h, next, row);
            for (int64_t i = 0; i < p.n; i++) {
                out[place + i] = valid ? h[i].v : 0;
                if (valid) loss = plus(loss, scaled(p.grad_out.values[place + i], h[i]));
            }
        }
        for (int64_t i = 0; i < p.n; i++) {
            h_n[b * p.n + i] = h[i].v;
            loss = plus(loss, scaled(p.grad_h_n.values[b * p.n + i], h[i]));
            if (p.recurrence == LSTM) loss = plus(loss, scaled(p.grad_c_n.values[b * p.n + i], c[i]));
        }
    }
    free(h), free(next), free(rh), free(c);
    return loss;
}

static int run_lstm(problem p, array out, array h_n, array c_n, array gates, array cells, array *grads) {
    const int64_t wide_x = p.m > 0 ? p.m : 4 * p.n;
    el_lstm call = {.T = p.T, .B = p.B, .n = p.n, .m = p.m, .activation = p.kind, .reverse = p.reverse,
                    .threads = p.threads, .slope = p.slope, .x = p.x.given, .x_t = p.B * wide_x, .x_b = wide_x,
                    .U = p.U.given, .W = p.W.given, .shift = p.shift.given, .threshold = p.threshold.given,
                    .h0 = p.h0.given, .c0 = p.c0.given, .lengths = p.lengths, .out = out.given, .h_n = h_n.given,
                    .c_n = c_n.given, .gates = gates.given, .cells = cells.given, .bits = p.bits,
                    .step = p.step.given, .grad_step = grads && p.bits ? grads[8].given : NULL,
                    .input_step = p.rounds_input ? p.input_step.given : NULL,
                    .grad_input_step = grads && p.rounds_input ? grads[9].given : NULL};
    if (!grads) return el_lstm_forward(&call, p.variant, p.wide);
    call.grad_out = p.grad_out.given, call.grad_out_t = p.B * p.n, call.grad_out_b = p.n;
    call.grad_h_n = p.grad_h_n.given, call.grad_c_n = p.grad_c_n.given;
    call.grad_x = grads[0].given, call.grad_U = p.m > 0 ? grads[1].given : NULL, call.grad_W = grads[2].given;
    call.grad_shift = grads[3].given, call.grad_threshold = grads[4].given;
    call.grad_h0 = grads[6].given, call.grad_c0 = grads[7].given;
    return el_lstm_backward(&call, p.variant, p.wide);
}

static int run(problem p, array out, array h_n, array gates, array *grads) {
    const int64_t wide_x = p.m > 0 ? p.m : gate_count[p.recurrence] * p.n;
    if (p.recurrence == GATED) {
        el_gated call = {.T = p.T, .B = p.B, .n = p.n, .m = p.m, .activation = p.kind, .reverse = p.reverse,
                         .threads = p.threads, .slope = p.slope, .before = p.before, .keep = p.keep,
                         .shift_gates = p.shift_gates, .x = p.x.given,
                         .x_t = p.B * wide_x, .x_b = wide_x, .U = p.U.given, .W = p.W.given, .shift = p.shift.given,
                         .threshold = p.threshold.given, .inner = p.inner.given, .h0 = p.h0.given,
                         .lengths = p.lengths, .out = out.given, .h_n = h_n.given, .gates = gates.given,
                         .bits = p.bits, .step = p.step.given, .grad_step = grads && p.bits ? grads[8].given : NULL,
                    .input_step = p.rounds_input ? p.input_step.given : NULL,
                    .grad_input_step = grads && p.rounds_input ? grads[9].given : NULL};
        if (!grads) return el_gated_forward(&call, p.variant, p.wide);
        call.grad_out = p.grad_out.given, call.grad_out_t = p.B * p.n, call.grad_out_b = p.n;
        call.grad_h_n = p.grad_h_n.given;
        call.grad_x = grads[0].given, call.grad_U = p.m > 0 ? grads[1].given : NULL, call.grad_W = grads[2].given;
        call.grad_shift = grads[3].given, call.grad_threshold = grads[4].given, call.grad_inner = grads[5].given;
        call.grad_h0 = grads[6].given;
        return el_gated_backward(&call, p.variant, p.wide);
    }
    el_simple call = {.T = p.T, .B = p.B, .n = p.n, .m = p.m, .activation = p.kind, .reverse = p.reverse,
                      .threads = p.threads, .slope = p.slope, .x = p.x.given, .x_t = p.B * wide_x, .x_b = wide_x,
                      .U = p.U.given, .W = p.W.given, .shift = p.shift.given, .threshold = p.threshold.given,
                      .h0 = p.h0.given, .lengths = p.lengths, .out = out.given, .h_n = h_n.given,
                      .moduli = p.kind == EL_COMPLEX_MODRELU ? gates.given : NULL, .bits = p.bits,
                      .step = p.step.given, .slopes = p.bits ? gates.given : NULL,
                      .grad_step = grads && p.bits ? grads[8].given : NULL,
                    .input_step = p.rounds_input ? p.input_step.given : NULL,
                    .grad_input_step = grads && p.rounds_input ? grads[9].given : NULL};
    if (!grads) return el_simple_forward(&call, p.variant, p.wide);
    call.grad_out = p.grad_out.given, call.grad_out_t = p.B * p.n, call.grad_out_b = p.n;
    call.grad_h_n = p.grad_h_n.given;
    call.grad_x = grads[0].given, call.grad_U = p.m > 0 ? grads[1].given : NULL, call.grad_W = grads[2].given;
    call.grad_shift = grads[3].given, call.grad_threshold = grads[4].given, call.grad_h0 = grads[6].given;
    return el_simple_backward(&call, p.variant, p.wide);
}

/* Forward against the loops, and all gradients against the slope of the loss along the random direction. */
static int check(problem p, double tolerance) {
    const int64_t states = p.T * p.B * p.n;
    array out = make(states, 0, p.wide), h_n = make(p.B * p.n, 0, p.wide);
    const int64_t segments = (p.T + EL_CELL_STEPS - 1) / EL_CELL_STEPS;
    array gates = make(p.recurrence == SIMPLE ? (p.bits ? states : states / 2) : 4 * states, 0, p.wide); /* simple: moduli, slopes */
    array cells = make((segments + 1) * p.B * p.n, 0, p.wide), c_n = make(p.B * p.n, 0, p.wide);
    const int lstm = p.recurrence == LSTM;
    double *expected = malloc((size_t)states * 8), *last = malloc((size_t)(p.B * p.n) * 8), worst = 0;
    int bad = (lstm ? run_lstm(p, out, h_n, c_n, gates, cells, NULL) : run(p, out, h_n, gates, NULL)) != 0;
    const dual loss = reference(p, expected, last);
    for (int64_t i = 0; i < states; i++) worst = fmax(worst, fabs(expected[i] - at(out, p.wide, i)));
    for (int64_t i = 0; i < p.B * p.n; i++) worst = fmax(worst, fabs(last[i] - at(h_n, p.wide, i)));
    /* A float near a half may be rounded to either side, and the sequence goes another way from there. */
    const int follows = worst < tolerance, may_leave = p.bits && !p.wide;
    if (!may_leave && !follows) bad |= failed(names[p.recurrence], worst);

    array *inputs[] = {&p.x, &p.U, &p.W, &p.shift, &p.threshold, &p.inner, &p.h0, &p.c0, &p.step, &p.input_step};
    enum { INPUTS = sizeof inputs / sizeof *inputs };
    array grads[INPUTS];
    for (int i = 0; i < INPUTS; i++) grads[i] = make(inputs[i]->count, 1, p.wide);
    bad |= (lstm ? run_lstm(p, out, h_n, c_n, gates, cells, grads) : run(p, out, h_n, gates, grads)) != 0;
    double slope = 0, scale = 1;
    const int used[INPUTS] = {1, p.m > 0, 1, 1, p.kind >= EL_MODRELU, p.recurrence == GATED && !p.before, 1, lstm,
                              p.bits > 0, p.rounds_input};
    for (int i = 0; i < INPUTS; i++)
        for (int64_t k = 0; k < inputs[i]->count && used[i]; k++) {
            const double gradient = at(grads[i], p.wide, k), along = inputs[i]->direction[k] * gradient;
            if (!isfinite(gradient)) bad |= failed("gradient", gradient);
            slope += along;
            scale += fabs(along);
        }
    /* In floats a unit may be on the other side of a kink, which is worth about its gradient, and is rare. */
    const double allowed = p.wide ? 1e-8 : p.bits ? 4e-2 : p.kind == EL_TANH || p.kind == EL_IDENTITY ? 1e-3 : 2e-2;
    if (follows && !(fabs(slope - loss.d) < allowed * scale)) bad |= failed("gradient", fabs(slope - loss.d) / scale);
    for (int i = 0; i < INPUTS; i++) drop(grads[i]);
    drop(out), drop(h_n), drop(gates), drop(cells), drop(c_n), free(expected), free(last);
    return bad;
}

static int check_many(int count) {
    int bad = 0;
    for (int i = 0; i < count && !bad; i++) {
        const int wide = (int)whole(0, 1), variant = (int)whole(0, el_best_variant());
        problem p = draw((int)whole(0, 2), wide, variant, whole(1, 4));
        bad = check(p, wide ? 1e-9 : 2e-3);
        if (bad)
            printf("  %s wide %d variant %d T %ld B %ld n %ld m %ld kind %ld reverse %ld lengths %d threads %ld "
                   "before %ld keep %ld bits %ld input %d\n",
                   names[p.recurrence], wide, variant, (long)p.T, (long)p.B, (long)p.n, (long)p.m, (long)p.kind, (long)p.reverse,
                   p.lengths != NULL, (long)p.threads, (long)p.before, (long)p.keep, (long)p.bits, p.rounds_input);
        finish(p);
    }
    return bad;
}

/* A problem large enough for several threads, from several threads at once: every caller gets the same numbers. */
static problem shared;

static void *caller(void *result) {
    const int64_t states = shared.T * shared.B * shared.n;
    array out = {NULL, NULL, result, states}, h_n = {NULL, NULL, malloc((size_t)(shared.B * shared.n) * 4), 0};
    for (int i = 0; i < 5; i++)
        if (run(shared, out, h_n, (array){0}, NULL) != 0) abort();
    free(h_n.given);
    return NULL;
}

static int check_callers(void) {
    enum { CALLERS = 4 };
    pthread_t threads[CALLERS];
    float *results[CALLERS];
    int bad = 0;
    shared = (problem){.variant = el_best_variant(), .T = 60, .B = 7, .n = 60, .threads = 3, .kind = EL_TANH};
    shared.x = make(60 * 7 * 60, 1, 0), shared.W = make(60 * 60, 0.1, 0), shared.shift = make(60, 1, 0);
    shared.threshold = make(60, 1, 0), shared.h0 = make(7 * 60, 1, 0);
    const size_t size = (size_t)(60 * 7 * 60) * sizeof(float);
    for (int i = 0; i < CALLERS; i++) {
        results[i] = malloc(size);
        pthread_create(&threads[i], NULL, caller, results[i]);
    }
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
    for (int i = 1; i < CALLERS; i++)
        if (memcmp(results[0], results[i], size) != 0) bad = failed("callers disagree", i);
    for (int i = 0; i < CALLERS; i++) free(results[i]);
    finish(shared);
    return bad;
}

static int check_fork(void) {
    const pid_t child = fork();
    if (child == 0) _exit(check_many(20) || check_callers());
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0 ? check_many(5) : failed("child after fork", status);
}

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 200;
    seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    int bad = check_many(count) || check_callers();
    if (argc > 3 && strcmp(argv[3], "fork") == 0) bad = bad || check_fork();
    el_stop_workers();
    bad = bad || check_many(3); /* the pool starts again */
    el_stop_workers();
    el_release_workspace();
    if (el_workspace_bytes() != 0) bad = failed("workspace kept", (double)el_workspace_bytes());
    puts(bad ? "failed" : "all equal");
    return bad;
}
