/* The LSTM over a sequence. Equations and fields: el_lstm in kernel.h.
 *
 * The four gates of a row stand side by side, i, f, g, o, n numbers each without gaps: so the product with the stacked
 * matrices is one, of 4n columns. Kept for the backward pass are the gates, 4n numbers a step, and the cell of every
 * EL_CELL_STEPS-th step; the cells between, and tanh of each, are computed again there.
 */

typedef struct {
    REAL *input, *projected, *state, *next;                        /* forward */
    REAL *z, *gates, *cell;                                        /* forward; z, gates: 4n a row */
    REAL *dh, *pulled, *dcell, *dz, *packed_rows, *dx;             /* backward; dz: 4n a row */
    REAL *cells;                                                   /* backward: of EL_CELL_STEPS steps, and one more */
    REAL *grad_W, *grad_U, *grad_shift, *grad_threshold, *pad;
    REAL *grad_step; /* n numbers to be added up */
    const REAL **rows;
} FN(lstm_part);

typedef struct {
    const el_lstm *call;
    int parts, few;
    int64_t steps;
    REAL *W, *U, *shift;
    FN(grid) grid, candidate, state; /* of the cell, the candidate and the state */
    FN(input) input;
    FN(lstm_part) part[EL_MOST_PARTS];
} FN(lstm_run);

TARGET static inline void FN(lstm_grids)(FN(lstm_run) *run) {
    const el_lstm *call = run->call;
    if (!call->bits) return;
    run->grid = FN(grid_of)(call->bits, call->step);
    run->state = FN(unit_grid)(run->grid);
    run->candidate = call->activation == EL_TANH ? run->state : run->grid;
    if (call->activation == EL_TANH) run->grid.margin /= 16; /* Note [A margin for halves] in rounding.py */
}

/* C (M rows of 4n) = start + A V^T for V = W (K = n) or U (K = m). */
TARGET static void FN(lstm_product)(const FN(lstm_run) *run, int64_t M, int64_t K, const REAL *a, int64_t lda,
                                    const REAL *packed, const void *V, REAL *c, int64_t ldc, const REAL *start,
                                    int64_t ldstart) {
    const int64_t wide = 4 * run->call->n;
    if (run->few)
        FN(multiply_few)(M, wide, K, a, lda, V, c, ldc, start, ldstart);
    else
        FN(multiply)(M, wide, K, a, lda, packed, c, ldc, start, ldstart);
}

/* From the arguments z of the gates to the gates, the new cell and the new state; `cell` is changed in place. */
TARGET static void FN(lstm_row)(int64_t activation, REAL slope, int64_t n, const REAL *restrict z,
                                const REAL *threshold, REAL *restrict gates, REAL *restrict cell, REAL *restrict h) {
    REAL *restrict i = gates, *restrict f = gates + n, *restrict g = gates + 2 * n, *restrict o = gates + 3 * n;
    FN(sigmoid_row)(2 * n, z, i);
    FN(activate)(activation, slope, n, z + 2 * n, threshold, g);
    FN(sigmoid_row)(n, z + 3 * n, o);
    for (int64_t j = 0; j < n; j++) cell[j] = f[j] * cell[j] + i[j] * g[j];
    FN(tangent_row)(n, cell, h);
    for (int64_t j = 0; j < n; j++) h[j] *= o[j];
}

/* c' before it is rounded, from the gates of a step as they are kept: before rounding. */
TARGET static inline REAL FN(unrounded_cell)(FN(grid) grid, FN(grid) candidate, REAL i, REAL f, REAL g, REAL cell) {
    return FN(gate_on_grid)(grid, f) * cell + FN(gate_on_grid)(grid, i) * FN(on_grid)(candidate, g);
}

/* lstm_row with everything on its grid; `gates` are kept as they are before rounding. */
TARGET static void FN(lstm_rounded_row)(const FN(lstm_run) *run, const REAL *restrict z, REAL *restrict gates,
                                        REAL *restrict cell, REAL *restrict h) {
    const el_lstm *call = run->call;
    const int64_t n = call->n;
    const FN(grid) grid = run->grid, candidate = run->candidate, state = run->state;
    REAL *restrict i = gates, *restrict f = gates + n, *restrict g = gates + 2 * n, *restrict o = gates + 3 * n;
    FN(sigmoid_row)(2 * n, z, i);
    FN(activate)(call->activation, (REAL)call->slope, n, z + 2 * n, call->threshold, g);
    FN(sigmoid_row)(n, z + 3 * n, o);
    for (int64_t j = 0; j < n; j++)
        cell[j] = FN(blend_on_grid)(grid, FN(unrounded_cell)(grid, candidate, i[j], f[j], g[j], cell[j]));
    FN(tangent_row)(n, cell, h);
    for (int64_t j = 0; j < n; j++) h[j] = FN(on_grid)(state, h[j] * FN(gate_on_grid)(grid, o[j]));
}

TARGET static void FN(lstm_step)(const FN(lstm_run) *run, const FN(lstm_part) *mine, int64_t t, int64_t from, int64_t R,
                                 const REAL *projected, const REAL *h, REAL *next) {
    const el_lstm *call = run->call;
    const int64_t B = call->B, n = call->n, ld = FN(stride)(n), wide = FN(stride)(4 * n);
    const REAL *given = call->m > 0 ? NULL : (const REAL *)call->x + t * call->x_t + from * call->x_b;
    REAL *out = (REAL *)call->out + (t * B + from) * n;
    FN(lstm_product)(run, R, n, h, ld, run->W, call->W, mine->z, wide, projected ? projected : run->shift,
                     projected ? wide : 0);
    for (int64_t r = 0; r < R; r++) {
        REAL *z = mine->z + r * wide, *cell = mine->cell + r * ld;
        REAL *gates = call->gates ? (REAL *)call->gates + (t * B + from + r) * 4 * n : mine->gates;
        if (!el_valid(call->lengths, t, from + r)) { /* the state stops here */
            memcpy(next + r * ld, h + r * ld, (size_t)n * sizeof(REAL));
            memset(out + r * n, 0, (size_t)n * sizeof(REAL));
            if (call->gates) memset(gates, 0, (size_t)(4 * n) * sizeof(REAL));
        } else {
            if (given) FN(add_row)(4 * n, z, given + r * call->x_b);
            if (call->bits)
                FN(lstm_rounded_row)(run, z, gates, cell, next + r * ld);
            else
                FN(lstm_row)(call->activation, (REAL)call->slope, n, z, call->threshold, gates, cell, next + r * ld);
            memcpy(out + r * n, next + r * ld, (size_t)n * sizeof(REAL));
        }
    }
}

TARGET static void FN(lstm_forward_part)(void *context, int index) {
    const FN(lstm_run) *run = context;
    const el_lstm *call = run->call;
    const FN(lstm_part) *mine = &run->part[index];
    const int64_t T = call->T, B = call->B, n = call->n, m = call->m, ld = FN(stride)(n), wide = FN(stride)(4 * n);
    const int64_t from = el_slice(B, run->parts, index), to = el_slice(B, run->parts, index + 1), R = to - from;
    const int64_t segments = (T + EL_CELL_STEPS - 1) / EL_CELL_STEPS;
    const size_t row = (size_t)n * sizeof(REAL);
    REAL *h = mine->state, *next = mine->next;
    for (int64_t r = 0; r < R; r++) {
        memcpy(h + r * ld, (const REAL *)call->h0 + (from + r) * n, row);
        memcpy(mine->cell + r * ld, (const REAL *)call->c0 + (from + r) * n, row);
    }
    for (int64_t first = 0; first < T; first += run->steps) {
        const int64_t last = el_smaller(T, first + run->steps);
        if (m > 0) {
            FN(gather_input)(&run->input, first, last, from, to, mine->input);
            FN(lstm_product)(run, (last - first) * R, m, mine->input, m, run->U, call->U, mine->projected, wide,
                             run->shift, 0);
        }
        for (int64_t i = first; i < last; i++) {
            const REAL *projected = m > 0 ? mine->projected + (i - first) * R * wide : NULL;
            for (int64_t r = 0; call->cells && i % EL_CELL_STEPS == 0 && r < R; r++)
                memcpy((REAL *)call->cells + (i / EL_CELL_STEPS * B + from + r) * n, mine->cell + r * ld, row);
            FN(lstm_step)(run, mine, el_time(T, i, call->reverse), from, R, projected, h, next);
            REAL *const previous = h;
            h = next;
            next = previous;
        }
    }
    for (int64_t r = 0; r < R; r++) {
        memcpy((REAL *)call->h_n + (from + r) * n, h + r * ld, row);
        memcpy((REAL *)call->c_n + (from + r) * n, mine->cell + r * ld, row);
        if (call->cells) memcpy((REAL *)call->cells + (segments * B + from + r) * n, mine->cell + r * ld, row);
    }
}

TARGET static void FN(lstm_forward_layout)(FN(lstm_run) *run, el_block *block) {
    const el_lstm *call = run->call;
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), wide = FN(stride)(4 * n);
    const int64_t R = el_most_rows(call->B, run->parts);
    const size_t real = sizeof(REAL);
    run->shift = el_cut(block, (size_t)wide * real);
    run->W = run->few ? NULL : el_cut(block, (size_t)(n * FN(padded)(4 * n)) * real);
    run->U = run->few ? NULL : el_cut(block, (size_t)(m * FN(padded)(4 * n)) * real);
    for (int p = 0; p < run->parts; p++) {
        FN(lstm_part) *part = &run->part[p];
        part->state = el_cut(block, (size_t)(R * ld) * real);
        part->next = el_cut(block, (size_t)(R * ld) * real);
        part->cell = el_cut(block, (size_t)(R * ld) * real);
        part->z = el_cut(block, (size_t)(R * wide) * real);
        part->gates = el_cut(block, call->gates ? 0 : (size_t)(4 * n) * real);
        part->input = el_cut(block, (size_t)(run->steps * R * m) * real);
        part->projected = el_cut(block, m > 0 ? (size_t)(run->steps * R * wide) * real : 0);
    }
}

TARGET static int FN(lstm_forward)(const el_lstm *call) {
    FN(lstm_run) run = {.call = call, .input = INPUT_OF(call)};
    FN(lstm_grids)(&run);
    const int64_t n = call->n, m = call->m;
    run.parts = el_parts(call->T, call->B, 4 * n * (n + m), el_smaller(call->threads, EL_MOST_PARTS));
    run.steps = el_block_steps(call->T, el_most_rows(call->B, run.parts));
    run.few = call->T * el_most_rows(call->B, run.parts) <= FEW_ROWS;
    el_block block = {0};
    FN(lstm_forward_layout)(&run, &block);
    void *base = el_borrow(block.used);
    if (!base) return -1;
    block = (el_block){.base = base};
    FN(lstm_forward_layout)(&run, &block);
    FN(padded_row)(call->shift, 4 * n, run.shift);
    if (!run.few) {
        FN(pack_transposed)(n, 4 * n, call->W, run.W);
        if (m > 0) FN(pack_transposed)(m, 4 * n, call->U, run.U);
    }
    const size_t states = (size_t)(call->T * call->B * n) * sizeof(REAL);
    el_will_fill(call->out, states);
    if (call->gates) el_will_fill(call->gates, 4 * states);
    el_parallel(run.parts, FN(lstm_forward_part), &run);
    el_return(base);
    return 0;
}
