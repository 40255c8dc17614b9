/* h_t = f(W h_{t-1} + U x_t + shift) over a sequence, and back. Fields: el_simple in kernel.h. */

typedef struct {
    REAL *input, *projected, *state, *next;                    /* forward */
    REAL *dh, *pulled, *dz, *packed_rows, *dx;                 /* backward */
    REAL *grad_W, *grad_U, *grad_shift, *grad_threshold, *pad; /* backward: this part's share; a row of zeros */
    REAL *grad_step;                                           /* the same, n numbers to be added up */
    const REAL **rows;
} FN(simple_part);

typedef struct {
    const el_simple *call;
    int parts, few;
    int64_t steps; /* in a block */
    REAL *W, *U, *shift;
    FN(grid) grid;
    FN(input) input;
    FN(simple_part) part[EL_MOST_PARTS];
} FN(simple_run);

TARGET static void FN(simple_forward_part)(void *context, int index) {
    const FN(simple_run) *run = context;
    const el_simple *call = run->call;
    const FN(simple_part) *mine = &run->part[index];
    const int64_t T = call->T, B = call->B, n = call->n, m = call->m, ld = FN(stride)(n), *lengths = call->lengths;
    const int64_t from = el_slice(B, run->parts, index), to = el_slice(B, run->parts, index + 1), R = to - from;
    const REAL *x = call->x, *h0 = call->h0, *threshold = call->threshold;
    REAL *out = call->out, *h_n = call->h_n, *h = mine->state, *z = mine->next;
    for (int64_t r = 0; r < R; r++) memcpy(h + r * ld, h0 + (from + r) * n, (size_t)n * sizeof(REAL));
    for (int64_t first = 0; first < T; first += run->steps) {
        const int64_t last = el_smaller(T, first + run->steps);
        if (m > 0) {
            FN(gather_input)(&run->input, first, last, from, to, mine->input);
            if (run->few)
                FN(multiply_few)((last - first) * R, n, m, mine->input, m, call->U, mine->projected, ld, run->shift, 0);
            else
                FN(multiply)((last - first) * R, n, m, mine->input, m, run->U, mine->projected, ld, run->shift, 0);
        }
        for (int64_t i = first; i < last; i++) {
            const int64_t t = el_time(T, i, call->reverse);
            const REAL *start = m > 0 ? mine->projected + (i - first) * R * ld : run->shift;
            if (run->few)
                FN(multiply_few)(R, n, n, h, ld, call->W, z, ld, start, m > 0 ? ld : 0);
            else
                FN(multiply)(R, n, n, h, ld, run->W, z, ld, start, m > 0 ? ld : 0);
            for (int64_t r = 0; r < R; r++) {
                REAL *row = z + r * ld, *to_row = out + (t * B + from + r) * n;
                REAL *moduli = call->moduli ? (REAL *)call->moduli + (t * B + from + r) * (n / 2) : NULL;
                REAL *slopes = call->slopes ? (REAL *)call->slopes + (t * B + from + r) * n : NULL;
                if (!el_valid(lengths, t, from + r)) { /* the state stops here */
                    memcpy(row, h + r * ld, (size_t)n * sizeof(REAL));
                    memset(to_row, 0, (size_t)n * sizeof(REAL));
                    if (moduli) memset(moduli, 0, (size_t)(n / 2) * sizeof(REAL));
                    if (slopes) memset(slopes, 0, (size_t)n * sizeof(REAL));
                    continue;
                }
                if (m == 0) FN(add_row)(n, row, x + t * call->x_t + (from + r) * call->x_b);
                if (moduli) FN(modulus_row)(n / 2, row, moduli);
                if (slopes)
                    FN(activate_with_slopes)(run->grid, call->activation, (REAL)call->slope, n, row, threshold, to_row,
                                             slopes);
                else if (call->bits)
                    FN(activate_to_grid)(run->grid, call->activation, (REAL)call->slope, n, row, threshold, to_row);
                else
                    FN(activate)(call->activation, (REAL)call->slope, n, row, threshold, to_row);
                memcpy(row, to_row, (size_t)n * sizeof(REAL));
            }
            REAL *const previous = h;
            h = z;
            z = previous;
        }
    }
    for (int64_t r = 0; r < R; r++) memcpy(h_n + (from + r) * n, h + r * ld, (size_t)n * sizeof(REAL));
}

/* Cut the workspace of a forward pass, or count it where the block has no base. */
TARGET static void FN(simple_forward_layout)(FN(simple_run) *run, el_block *block) {
    const el_simple *call = run->call;
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), R = el_most_rows(call->B, run->parts);
    const size_t real = sizeof(REAL);
    run->shift = el_cut(block, (size_t)ld * real);
    run->W = run->few ? NULL : el_cut(block, (size_t)(n * FN(padded)(n)) * real);
    run->U = run->few ? NULL : el_cut(block, (size_t)(m * FN(padded)(n)) * real);
    for (int p = 0; p < run->parts; p++) {
        FN(simple_part) *part = &run->part[p];
        part->state = el_cut(block, (size_t)(R * ld) * real);
        part->next = el_cut(block, (size_t)(R * ld) * real);
        part->input = el_cut(block, (size_t)(run->steps * R * m) * real);
        part->projected = el_cut(block, m > 0 ? (size_t)(run->steps * R * ld) * real : 0);
    }
}

TARGET static int FN(simple_forward)(const el_simple *call) {
    FN(simple_run) run = {.call = call, .input = INPUT_OF(call)};
    if (call->bits) run.grid = FN(grid_of)(call->bits, call->step);
    run.parts = el_parts(call->T, call->B, call->n * (call->n + call->m), el_smaller(call->threads, EL_MOST_PARTS));
    run.steps = el_block_steps(call->T, el_most_rows(call->B, run.parts));
    run.few = call->T * el_most_rows(call->B, run.parts) <= FEW_ROWS;
    el_block block = {0};
    FN(simple_forward_layout)(&run, &block);
    void *base = el_borrow(block.used);
    if (!base) return -1;
    block = (el_block){.base = base};
    FN(simple_forward_layout)(&run, &block);
    FN(padded_row)(call->shift, call->n, run.shift);
    if (!run.few) {
        FN(pack_transposed)(call->n, call->n, call->W, run.W);
        if (call->m > 0) FN(pack_transposed)(call->m, call->n, call->U, run.U);
    }
    el_will_fill(call->out, (size_t)(call->T * call->B * call->n) * sizeof(REAL));
    if (call->slopes) el_will_fill(call->slopes, (size_t)(call->T * call->B * call->n) * sizeof(REAL));
    el_parallel(run.parts, FN(simple_forward_part), &run);
    el_return(base);
    return 0;
}

/* What one step sends back: dz of every row, and with it the gradient of the threshold. */
TARGET static void FN(simple_pull)(const FN(simple_run) *run, const FN(simple_part) *mine, int64_t t, int64_t from,
                                   int64_t R, REAL *dz) {
    const el_simple *call = run->call;
    const int64_t B = call->B, n = call->n, ld = FN(stride)(n);
    const REAL *grad_out = call->grad_out, *out = call->out;
    for (int64_t r = 0; r < R; r++) {
        REAL *g = mine->dh + r * ld, *row = dz + r * ld;
        if (!el_valid(call->lengths, t, from + r)) {
            memset(row, 0, (size_t)n * sizeof(REAL));
        } else {
            const REAL *value = out + (t * B + from + r) * n;
            if (grad_out) FN(add_row)(n, g, grad_out + t * call->grad_out_t + (from + r) * call->grad_out_b);
            if (call->activation == EL_COMPLEX_MODRELU) {
                const REAL *moduli = (const REAL *)call->moduli + (t * B + from + r) * (n / 2);
                FN(complex_unmodrelu_row)(n / 2, value, moduli, g, row, mine->grad_threshold);
            } else {
                const REAL slope = (REAL)call->slope;
                if (call->grad_step)
                    FN(deactivate_with_slopes)(run->grid, call->activation, slope, n, value,
                                               (const REAL *)call->slopes + (t * B + from + r) * n, g, row,
                                               mine->grad_step);
                else if (call->bits)
                    FN(deactivate_on_grid)(run->grid, call->activation, slope, n, value, g, row);
                else
                    FN(deactivate)(call->activation, slope, n, value, g, row);
                if (call->grad_threshold) FN(add_signed_row)(n, mine->grad_threshold, value, row);
            }
        }
        if (call->m == 0 && call->grad_x)
            memcpy((REAL *)call->grad_x + (t * B + from + r) * n, row, (size_t)n * sizeof(REAL));
    }
}

/* The gradients of shift, W, U and x from a finished block of dz, steps [first, last). */
TARGET static void FN(simple_collect)(const FN(simple_run) *run, const FN(simple_part) *mine, int64_t first,
                                      int64_t last, int64_t from, int64_t to) {
    const el_simple *call = run->call;
    const int64_t T = call->T, B = call->B, n = call->n, m = call->m, ld = FN(stride)(n), ldm = FN(stride)(m);
    const int64_t R = to - from, count = (last - first) * R;
    if (call->grad_shift) FN(add_rows)(count, n, ld, mine->grad_shift, mine->dz);
    if (call->grad_W) {
        FN(gather_previous)(call->out, call->h0, T, B, n, call->lengths, call->reverse, first, last, from, to, mine->pad,
                            mine->rows);
        FN(pack_rows)(count, n, mine->rows, mine->packed_rows);
        FN(multiply_transposed)(n, n, count, mine->dz, ld, mine->packed_rows, mine->grad_W, ld);
    }
    if (call->grad_U || call->grad_input_step)
        FN(collect_input)(&run->input, first, last, from, to, n, mine->dz, ld, mine->input, mine->rows, mine->packed_rows,
                          mine->grad_U);
    if (m > 0 && call->grad_x) {
        FN(multiply)(count, m, n, mine->dz, ld, run->U, mine->dx, ldm, NULL, 0);
        FN(scatter_input)(&run->input, first, last, from, to, mine->dx, ldm, call->grad_x);
    }
}

TARGET static void FN(simple_backward_part)(void *context, int index) {
    const FN(simple_run) *run = context;
    const el_simple *call = run->call;
    FN(simple_part) mine = run->part[index];
    const int64_t T = call->T, n = call->n, ld = FN(stride)(n), ldu = FN(stride)(FN(input_width)(&run->input));
    const int64_t from = el_slice(call->B, run->parts, index), to = el_slice(call->B, run->parts, index + 1);
    const int64_t R = to - from;
    const REAL *grad_h_n = call->grad_h_n;
    memset(mine.grad_W, 0, (size_t)(call->grad_W ? n * ld : 0) * sizeof(REAL));
    memset(mine.grad_U, 0, (size_t)(n * ldu) * sizeof(REAL));
    memset(mine.grad_shift, 0, (size_t)ld * sizeof(REAL));
    memset(mine.grad_threshold, 0, (size_t)ld * sizeof(REAL));
    if (call->grad_step) memset(mine.grad_step, 0, (size_t)ld * sizeof(REAL));
    memset(mine.pad, 0, (size_t)n * sizeof(REAL));
    for (int64_t r = 0; r < R; r++)
        FN(padded_row)(grad_h_n ? grad_h_n + (from + r) * n : NULL, n, mine.dh + r * ld);
    for (int64_t last = T; last > 0;) {
        const int64_t first = (last - 1) / run->steps * run->steps;
        for (int64_t i = last - 1; i >= first; i--) {
            const int64_t t = el_time(T, i, call->reverse);
            REAL *dz = mine.dz + (i - first) * R * ld;
            FN(simple_pull)(run, &mine, t, from, R, dz);
            if (i == 0 && !call->grad_h0) continue; /* nothing stands before the first step */
            FN(multiply)(R, n, n, dz, ld, run->W, mine.pulled, ld, NULL, 0);
            for (int64_t r = 0; r < R; r++)
                if (!el_valid(call->lengths, t, from + r))
                    memcpy(mine.pulled + r * ld, mine.dh + r * ld, (size_t)n * sizeof(REAL));
            REAL *const before = mine.dh;
            mine.dh = mine.pulled;
            mine.pulled = before;
        }
        FN(simple_collect)(run, &mine, first, last, from, to);
        last = first;
    }
    if (call->grad_h0)
        for (int64_t r = 0; r < R; r++)
            memcpy((REAL *)call->grad_h0 + (from + r) * n, mine.dh + r * ld, (size_t)n * sizeof(REAL));
}

TARGET static void FN(simple_backward_layout)(FN(simple_run) *run, el_block *block) {
    const el_simple *call = run->call;
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), ldm = FN(stride)(m);
    const int64_t ldu = FN(stride)(FN(input_width)(&run->input));
    const int64_t R = el_most_rows(call->B, run->parts), count = run->steps * R;
    const size_t real = sizeof(REAL);
    run->W = el_cut(block, (size_t)(n * ld) * real);
    run->U = el_cut(block, (size_t)(n * ldm) * real);
    for (int p = 0; p < run->parts; p++) {
        FN(simple_part) *part = &run->part[p];
        part->dh = el_cut(block, (size_t)(R * ld) * real);
        part->pulled = el_cut(block, (size_t)(R * ld) * real);
        part->dz = el_cut(block, (size_t)(count * ld) * real);
        part->input = el_cut(block, (size_t)(count * FN(input_scratch)(&run->input)) * real);
        part->packed_rows = el_cut(block, (size_t)(count * (ld > ldu ? ld : ldu)) * real);
        part->dx = el_cut(block, (size_t)(count * ldm) * real);
        part->rows = el_cut(block, (size_t)count * sizeof(REAL *));
        part->pad = el_cut(block, (size_t)n * real);
    }
    /* Laid out part after part at one distance, as sum_parts wants them. */
    for (int p = 0; p < run->parts; p++) run->part[p].grad_W = el_cut(block, (size_t)(n * ld) * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_U = el_cut(block, (size_t)(n * ldu) * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_shift = el_cut(block, (size_t)ld * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_threshold = el_cut(block, (size_t)ld * real);
    for (int p = 0; p < run->parts; p++)
        run->part[p].grad_step = el_cut(block, call->grad_step ? (size_t)ld * real : 0);
}

TARGET static int FN(simple_backward)(const el_simple *call) {
    FN(simple_run) run = {.call = call, .input = INPUT_OF(call)};
    if (call->bits) run.grid = FN(grid_of)(call->bits, call->step);
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), ldu = FN(stride)(FN(input_width)(&run.input));
    run.parts = el_parts(call->T, call->B, n * (n + m), el_smaller(call->threads, EL_MOST_PARTS));
    run.steps = el_block_steps(call->T, el_most_rows(call->B, run.parts));
    el_block block = {0};
    FN(simple_backward_layout)(&run, &block);
    void *base = el_borrow(block.used);
    if (!base) return -1;
    block = (el_block){.base = base};
    FN(simple_backward_layout)(&run, &block);
    FN(pack_plain)(n, n, call->W, run.W);
    if (m > 0 && call->grad_x) FN(pack_plain)(n, m, call->U, run.U);
    if (call->grad_x) el_will_fill(call->grad_x, (size_t)(call->T * call->B * (m > 0 ? m : n)) * sizeof(REAL));
    el_parallel(run.parts, FN(simple_backward_part), &run);
    const FN(simple_part) *part = run.part;
    const int parts = run.parts;
#define DISTANCE(field) (parts > 1 ? part[1].field - part[0].field : 0)
    if (call->grad_W) FN(sum_parts)(n, n, ld, parts, part->grad_W, DISTANCE(grad_W), call->grad_W);
    if (call->grad_U) FN(sum_parts)(n, m, ldu, parts, part->grad_U, DISTANCE(grad_U), call->grad_U);
    if (call->grad_input_step)
        FN(sum_input_slopes)(&run.input, n, call->U, parts, part->grad_U, DISTANCE(grad_U), call->grad_input_step);
    if (call->grad_shift) FN(sum_parts)(1, n, ld, parts, part->grad_shift, DISTANCE(grad_shift), call->grad_shift);
    if (call->grad_threshold)
        FN(sum_parts)(1, call->activation == EL_COMPLEX_MODRELU ? n / 2 : n, ld, parts, part->grad_threshold,
                      DISTANCE(grad_threshold), call->grad_threshold);
    if (call->grad_step) FN(sum_of_rows)(n, parts, part->grad_step, DISTANCE(grad_step), call->grad_step);
#undef DISTANCE
    el_return(base);
    return 0;
}
