/* The kernel on its own, for the sanitizers: random sizes against loops written out, gradients against finite
 * differences, several callers at once, and a child after fork. Prints a sentence and returns 1 if anything differs. */
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

/* A block of doubles and its copy in the precision of the call. Sized exactly, so that a step over the end is seen. */
typedef struct {
    double *values;
    void *given;
    int64_t count;
} array;

static array make(int64_t count, double scale, int wide) {
    array a = {malloc((size_t)count * sizeof(double)), malloc((size_t)count * (wide ? 8 : 4)), count};
    for (int64_t i = 0; i < count; i++) {
        a.values[i] = scale * uniform();
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
    free(a.given);
}

static double activation(int64_t kind, double slope, double z, double b) {
    const double length = fabs(z) + b;
    switch (kind) {
    case EL_RELU: return z > 0 ? z : 0;
    case EL_LEAKY_RELU: return z > 0 ? z : slope * z;
    case EL_TANH: return tanh(z);
    case EL_MODRELU: return length > 0 ? (z > 0 ? length : z < 0 ? -length : 0) : 0;
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
    array step;
    array x, U, W, shift, threshold, inner, h0, c0, grad_out, grad_h_n, grad_c_n;
    int64_t *lengths;
} problem;

static problem draw(int recurrence, int wide, int variant, int64_t threads) {
    problem p = {.recurrence = recurrence, .wide = wide, .variant = variant, .threads = threads};
    p.T = whole(1, 9), p.B = whole(1, 9), p.n = whole(1, 40), p.m = whole(0, 5);
    /* Now and then more than one slab of the packed matrix, or more than one block of steps; not both: among so many
     * units one always jumps at modReLU's zero between the two points of a finite difference. */
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
    p.step = make(1, 0, wide);
    p.step.values[0] = 2.0 / (double)(1 << (p.bits ? p.bits - 1 : 0)); /* a power of two: exact in both precisions */
    if (wide)
        ((double *)p.step.given)[0] = p.step.values[0];
    else
        ((float *)p.step.given)[0] = (float)p.step.values[0];
    if (whole(0, 1)) {
        p.lengths = malloc((size_t)p.B * sizeof(int64_t));
        for (int64_t b = 0; b < p.B; b++) p.lengths[b] = whole(1, p.T);
    }
    return p;
}

static void finish(problem p) {
    array all[] = {p.x, p.U, p.W, p.shift, p.threshold, p.inner, p.h0, p.c0, p.grad_out, p.grad_h_n, p.grad_c_n, p.step};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) drop(all[i]);
    free(p.lengths);
}

static double pre(problem p, int64_t gate, int64_t t, int64_t b, int64_t i, const double *state) {
    double z = gate < p.shift_gates ? p.shift.values[gate * p.n + i] : 0;
    if (state)
        for (int64_t k = 0; k < p.n; k++) z += p.W.values[(gate * p.n + i) * p.n + k] * state[k];
    if (p.m == 0) return z + p.x.values[(t * p.B + b) * gate_count[p.recurrence] * p.n + gate * p.n + i];
    for (int64_t k = 0; k < p.m; k++) z += p.U.values[(gate * p.n + i) * p.m + k] * p.x.values[(t * p.B + b) * p.m + k];
    return z;
}

/* Rounding as csrc/rounding.h has it, off where bits = 0. */
static double on_grid(problem p, double step, double margin, double v) {
    if (!p.bits) return v;
    const double half = (double)(1 << (p.bits - 1)), k = floor(v / step + 0.5 + margin);
    return step * fmin(fmax(k, -half), half - 1);
}
static double cell_on_grid(problem p, double v) { return on_grid(p, p.step.values[0], pow(2, -(double)(p.bits + 1)), v); }
static double state_on_grid(problem p, double v) { return on_grid(p, p.step.values[0], 0, v); }
static double unit_on_grid(problem p, double v) { return on_grid(p, pow(2, 1 - (double)p.bits), 0, v); }

/* A gate. */
static double sigmoid(problem p, double z) {
    const double gate = 1 / (1 + exp(-z)), half = p.bits ? (double)(1 << (p.bits - 1)) : 0;
    return p.bits ? floor(gate * half + 0.5) / half : gate;
}

/* The recurrence written out; returns <grad_out, out> + <grad_h_n, h_n> + <grad_c_n, c_n>. */
static double reference(problem p, double *out, double *h_n) {
    double loss = 0, *h = malloc((size_t)p.n * 8), *next = malloc((size_t)p.n * 8), *rh = malloc((size_t)p.n * 8);
    double *c = malloc((size_t)p.n * 8);
    for (int64_t b = 0; b < p.B; b++) {
        memcpy(h, p.h0.values + b * p.n, (size_t)p.n * 8);
        memcpy(c, p.c0.values + b * p.n, (size_t)p.n * 8);
        for (int64_t s = 0; s < p.T; s++) {
            const int64_t t = p.reverse ? p.T - 1 - s : s;
            double *row = out + (t * p.B + b) * p.n;
            if (p.lengths && t >= p.lengths[b]) {
                memset(row, 0, (size_t)p.n * 8);
                continue;
            }
            for (int64_t i = 0; i < p.n && p.recurrence == GATED; i++) rh[i] = cell_on_grid(p, h[i] * sigmoid(p, pre(p, 0, t, b, i, h)));
            for (int64_t i = 0; i < p.n; i++) {
                if (p.recurrence == LSTM) {
                    double g = activation(p.kind, p.slope, pre(p, 2, t, b, i, h), p.threshold.values[i]);
                    g = p.kind == EL_TANH ? unit_on_grid(p, g) : state_on_grid(p, g);
                    c[i] = sigmoid(p, pre(p, 1, t, b, i, h)) * c[i] + sigmoid(p, pre(p, 0, t, b, i, h)) * g;
                    c[i] = cell_on_grid(p, c[i]);
                    next[i] = unit_on_grid(p, sigmoid(p, pre(p, 3, t, b, i, h)) * tanh(c[i]));
                    continue;
                }
                if (p.kind == EL_COMPLEX_MODRELU) {
                    const double own = pre(p, 0, t, b, i, h), other = pre(p, 0, t, b, i ^ 1, h), size = hypot(own, other);
                    next[i] = size > 0 ? own / size * fmax(size + p.threshold.values[i / 2], 0) : 0;
                    continue;
                }
                if (p.recurrence == SIMPLE) {
                    next[i] = activation(p.kind, p.slope, pre(p, 0, t, b, i, h), p.threshold.values[i]);
                    next[i] = state_on_grid(p, next[i]);
                    continue;
                }
                const double r = sigmoid(p, pre(p, 0, t, b, i, h)), u = sigmoid(p, pre(p, 1, t, b, i, h));
                double z, q = p.inner.values[i];
                if (p.before) {
                    z = pre(p, 2, t, b, i, rh);
                } else {
                    for (int64_t k = 0; k < p.n; k++) q += p.W.values[(2 * p.n + i) * p.n + k] * h[k];
                    z = pre(p, 2, t, b, i, NULL) + r * q;
                }
                const double k = state_on_grid(p, activation(p.kind, p.slope, z, p.threshold.values[i]));
                next[i] = cell_on_grid(p, p.keep ? u * h[i] + (1 - u) * k : (1 - u) * h[i] + u * k);
            }
            memcpy(h, next, (size_t)p.n * 8);
            memcpy(row, next, (size_t)p.n * 8);
        }
        memcpy(h_n + b * p.n, h, (size_t)p.n * 8);
        for (int64_t i = 0; i < p.n && p.recurrence == LSTM; i++) loss += c[i] * p.grad_c_n.values[b * p.n + i];
    }
    for (int64_t i = 0; i < p.T * p.B * p.n; i++) loss += out[i] * p.grad_out.values[i];
    for (int64_t i = 0; i < p.B * p.n; i++) loss += h_n[i] * p.grad_h_n.values[i];
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
                    .step = p.step.given, .grad_step = grads && p.bits ? grads[8].given : NULL};
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
                         .bits = p.bits, .step = p.step.given, .grad_step = grads && p.bits ? grads[8].given : NULL};
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
                      .grad_step = grads && p.bits ? grads[8].given : NULL};
    if (!grads) return el_simple_forward(&call, p.variant, p.wide);
    call.grad_out = p.grad_out.given, call.grad_out_t = p.B * p.n, call.grad_out_b = p.n;
    call.grad_h_n = p.grad_h_n.given;
    call.grad_x = grads[0].given, call.grad_U = p.m > 0 ? grads[1].given : NULL, call.grad_W = grads[2].given;
    call.grad_shift = grads[3].given, call.grad_threshold = grads[4].given, call.grad_h0 = grads[6].given;
    return el_simple_backward(&call, p.variant, p.wide);
}

/* Forward against the loops, and all gradients against the slope of the loss along one random direction. */
static int check(problem p, double tolerance) {
    const int64_t states = p.T * p.B * p.n;
    array out = make(states, 0, p.wide), h_n = make(p.B * p.n, 0, p.wide);
    const int64_t segments = (p.T + EL_CELL_STEPS - 1) / EL_CELL_STEPS;
    array gates = make(p.recurrence == SIMPLE ? (p.bits ? states : states / 2) : 4 * states, 0, p.wide); /* simple: moduli, slopes */
    array cells = make((segments + 1) * p.B * p.n, 0, p.wide), c_n = make(p.B * p.n, 0, p.wide);
    const int lstm = p.recurrence == LSTM;
    double *expected = malloc((size_t)states * 8), *last = malloc((size_t)(p.B * p.n) * 8), worst = 0;
    int bad = (lstm ? run_lstm(p, out, h_n, c_n, gates, cells, NULL) : run(p, out, h_n, gates, NULL)) != 0;
    const double loss = reference(p, expected, last);
    for (int64_t i = 0; i < states; i++) worst = fmax(worst, fabs(expected[i] - at(out, p.wide, i)));
    for (int64_t i = 0; i < p.B * p.n; i++) worst = fmax(worst, fabs(last[i] - at(h_n, p.wide, i)));
    /* A float near a half may be rounded to either side, and the sequence goes another way from there. */
    if (!(p.bits && !p.wide) && !(worst < tolerance)) bad |= failed(names[p.recurrence], worst);

    array *inputs[] = {&p.x, &p.U, &p.W, &p.shift, &p.threshold, &p.inner, &p.h0, &p.c0, &p.step};
    array grads[9];
    for (int i = 0; i < 9; i++) grads[i] = make(inputs[i]->count, 1, p.wide);
    bad |= (lstm ? run_lstm(p, out, h_n, c_n, gates, cells, grads) : run(p, out, h_n, gates, grads)) != 0;
    double slope = 0, numeric = 0, scale = 1;
    const double step = 1e-6;
    const int uses_threshold = p.kind >= EL_MODRELU, uses_inner = p.recurrence == GATED && !p.before;
    for (int i = 0; i < 8 && !p.bits; i++) {
        if ((i == 4 && !uses_threshold) || (i == 5 && !uses_inner) || (i == 1 && p.m == 0) || (i == 7 && !lstm)) continue;
        for (int64_t k = 0; k < inputs[i]->count; k++) {
            const double direction = uniform();
            slope += direction * at(grads[i], p.wide, k);
            scale += fabs(direction * at(grads[i], p.wide, k));
            inputs[i]->values[k] += step * direction;
        }
    }
    /* What is rounded has no slope to compare with; its gradients are tested from Python, here they must be finite. */
    for (int i = 0; i < 9 && p.bits; i++)
        for (int64_t k = 0; k < inputs[i]->count && (i != 5 || uses_inner); k++)
            if (!isfinite(at(grads[i], p.wide, k))) bad |= failed("gradient of rounding", at(grads[i], p.wide, k));
    numeric = p.bits ? 0 : (reference(p, expected, last) - loss) / step;
    /* A kink between the two points is worth about one unit's gradient, and is rare; smooth functions must agree. */
    const double allowed = (p.kind == EL_TANH || p.kind == EL_IDENTITY ? 1e-4 : 2e-2) + 10 * tolerance;
    if (!(fabs(slope - numeric) < allowed * scale)) bad |= failed("gradient", fabs(slope - numeric) / scale);
    for (int i = 0; i < 9; i++) drop(grads[i]);
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
                   "before %ld keep %ld\n",
                   names[p.recurrence], wide, variant, (long)p.T, (long)p.B, (long)p.n, (long)p.m, (long)p.kind, (long)p.reverse,
                   p.lengths != NULL, (long)p.threads, (long)p.before, (long)p.keep);
        finish(p);
    }
    return bad;
}

/* A problem large enough for several threads, from several threads at once: every caller gets the same numbers. */
static problem shared;

static void *caller(void *result) {
    const int64_t states = shared.T * shared.B * shared.n;
    array out = {NULL, result, states}, h_n = {NULL, malloc((size_t)(shared.B * shared.n) * 4), 0};
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
