/* The gated recurrence back through time: from the gradients of its outputs to those of everything it was given. */

/* du and dc from the gradient g of h', and the share of g that goes straight to h. The candidate's share is u itself
 * where u says what to write: 1 - (1 - u) would round a small u away. */
TARGET static void FN(unmix_row)(int64_t activation, REAL slope, int64_t keep, int64_t n, const REAL *restrict h,
                                 const REAL *restrict u, const REAL *restrict c, const REAL *restrict g,
                                 REAL *restrict du, REAL *restrict dc, REAL *restrict direct) {
    FOR_ACTIVATION(activation, for (int64_t j = 0; j < n; j++) {
        const REAL rest = 1 - u[j];
        const REAL kept = keep ? u[j] : rest;
        const REAL written = keep ? rest : u[j];
        const REAL difference = keep ? h[j] - c[j] : c[j] - h[j];
        du[j] = g[j] * (difference * u[j] * rest);
        dc[j] = g[j] * (written * FN(derivative)(ACTIVATION, slope, c[j]));
        direct[j] = g[j] * kept;
    });
}

/* Back through r * multiplied, whose gradient is `through`: dr of the sigmoid's argument, and r * through. */
TARGET static void FN(unreset_row)(int64_t n, const REAL *restrict through, const REAL *restrict r,
                                   const REAL *restrict multiplied, REAL *restrict dr, REAL *restrict rest) {
    for (int64_t j = 0; j < n; j++) {
        dr[j] = through[j] * (r[j] * (1 - r[j]) * multiplied[j]);
        rest[j] = through[j] * r[j];
    }
}

/* unmix_row where u, c and h' were rounded, given u and c as they were before. h' is a mean of h and c, so only c can be
 * outside of the range. What the step gets is added to `to_step` if that is there. */
TARGET static inline __attribute__((always_inline)) void FN(unmix_on_grid)(
    FN(grid) grid, int learned, int64_t activation, REAL slope, int64_t keep, int64_t n, const REAL *restrict h,
    const REAL *restrict gate, const REAL *restrict candidate, const REAL *restrict g, REAL *restrict du,
    REAL *restrict dc, REAL *restrict direct, REAL *restrict to_step) {
    FOR_ACTIVATION(activation, for (int64_t j = 0; j < n; j++) {
        const REAL u = FN(gate_on_grid)(grid, gate[j]);
        const REAL v = candidate[j] * grid.inverse;
        const REAL k = FN(code)(grid, v);
        const REAL end = FN(clamped)(grid, k);
        const REAL c = end * grid.step;
        const REAL rest = 1 - u;
        const REAL kept = keep ? u : rest;
        const REAL written = g[j] * (keep ? rest : u);
        const REAL difference = keep ? h[j] - c : c - h[j];
        du[j] = g[j] * (difference * gate[j] * (1 - gate[j]));
        dc[j] = FN(inside)(grid, k) ? written * FN(derivative)(ACTIVATION, slope, candidate[j]) : 0;
        direct[j] = g[j] * kept;
        if (learned) {
            const REAL mixed = keep ? u * h[j] + rest * c : rest * h[j] + u * c;
            const REAL slope_of_candidate = FN(inside)(grid, k) ? k - v : end;
            to_step[j] += g[j] * FN(slope_of_blend)(grid, mixed) + written * slope_of_candidate;
        }
    });
}

TARGET static void FN(unmix_rounded_row)(FN(grid) grid, int64_t activation, REAL slope, int64_t keep, int64_t n,
                                         const REAL *h, const REAL *gate, const REAL *candidate, const REAL *g,
                                         REAL *du, REAL *dc, REAL *direct, REAL *to_step) {
    if (to_step)
        FN(unmix_on_grid)(grid, 1, activation, slope, keep, n, h, gate, candidate, g, du, dc, direct, to_step);
    else
        FN(unmix_on_grid)(grid, 0, activation, slope, keep, n, h, gate, candidate, g, du, dc, direct, NULL);
}

/* unreset_row where r was rounded, given r as it was before. */
TARGET static void FN(unreset_rounded_row)(FN(grid) grid, int64_t n, const REAL *restrict through,
                                           const REAL *restrict gate, const REAL *restrict multiplied,
                                           REAL *restrict dr, REAL *restrict rest) {
    for (int64_t j = 0; j < n; j++) {
        dr[j] = through[j] * (gate[j] * (1 - gate[j]) * multiplied[j]);
        rest[j] = through[j] * FN(gate_on_grid)(grid, gate[j]);
    }
}

/* What the step of q(r h) gets from its gradient. */
TARGET static void FN(add_product_slopes)(FN(grid) grid, int64_t n, const REAL *restrict through,
                                          const REAL *restrict gate, const REAL *restrict h, REAL *restrict to_step) {
    for (int64_t j = 0; j < n; j++)
        to_step[j] += through[j] * FN(slope_of_blend)(grid, FN(gate_on_grid)(grid, gate[j]) * h[j]);
}

TARGET static void FN(unreset)(const FN(gated_run) *run, int64_t n, const REAL *through, const REAL *gate,
                               const REAL *multiplied, REAL *dr, REAL *rest) {
    if (run->call->bits)
        FN(unreset_rounded_row)(run->grid, n, through, gate, multiplied, dr, rest);
    else
        FN(unreset_row)(n, through, gate, multiplied, dr, rest);
}

/* One step back: fills this step's rows of dz (and inner) and leaves dL/dh of the step before in `pulled`. */
TARGET static void FN(gated_pull)(const FN(gated_run) *run, const FN(gated_part) *mine, int64_t t, int64_t from,
                                  int64_t R, REAL *dz, REAL *inner) {
    const el_gated *call = run->call;
    const int64_t T = call->T, B = call->B, n = call->n, ld = FN(stride)(n), wide = FN(three)(n);
    const int64_t kept = call->before ? 3 : 4, *lengths = call->lengths;
    const REAL *grad_out = call->grad_out;
    const REAL *gates = (const REAL *)call->gates + (t * B + from) * kept * n;
    REAL *scratch = mine->packed_rows; /* free until the block is collected: R rows */
    REAL *to_step = call->grad_step ? mine->grad_step : NULL;
    for (int64_t r = 0; r < R; r++) {
        const REAL *gate = gates + r * kept * n;
        REAL *g = mine->dh + r * ld, *row = dz + r * wide;
        if (!el_valid(lengths, t, from + r)) {
            memset(row, 0, (size_t)wide * sizeof(REAL));
            memset(inner + r * ld, 0, (size_t)ld * sizeof(REAL));
            memset(mine->pulled + r * ld, 0, (size_t)ld * sizeof(REAL));
            continue;
        }
        const REAL *h = FN(previous)(call->out, call->h0, T, B, n, lengths, t, from + r, call->reverse);
        if (grad_out) FN(add_row)(n, g, grad_out + t * call->grad_out_t + (from + r) * call->grad_out_b);
        REAL *dc = row + 2 * n;
        if (call->bits)
            FN(unmix_rounded_row)(run->grid, call->activation, (REAL)call->slope, call->keep, n, h, gate + n,
                                  gate + 2 * n, g, row + n, dc, mine->pulled + r * ld, to_step);
        else
            FN(unmix_row)(call->activation, (REAL)call->slope, call->keep, n, h, gate + n, gate + 2 * n, g, row + n, dc,
                          mine->pulled + r * ld);
        if (call->grad_threshold) FN(add_signed_row)(n, mine->grad_threshold, gate + 2 * n, dc);
        if (!call->before) FN(unreset)(run, n, dc, gate, gate + 3 * n, row, inner + r * ld);
    }
    if (call->before) {
        FN(multiply)(R, n, n, dz + 2 * n, wide, run->candidate_W, scratch, ld, NULL, 0);
        for (int64_t r = 0; r < R; r++) {
            if (!el_valid(lengths, t, from + r)) continue;
            const REAL *h = FN(previous)(call->out, call->h0, T, B, n, lengths, t, from + r, call->reverse);
            FN(unreset)(run, n, scratch + r * ld, gates + r * kept * n, h, dz + r * wide, inner);
            if (to_step) FN(add_product_slopes)(run->grid, n, scratch + r * ld, gates + r * kept * n, h, to_step);
            FN(add_row)(n, mine->pulled + r * ld, inner);
        }
    } else {
        FN(multiply)(R, n, n, inner, ld, run->candidate_W, mine->pulled, ld, mine->pulled, ld);
    }
    FN(multiply)(R, n, 2 * n, dz, wide, run->gates_W, mine->pulled, ld, mine->pulled, ld);
    for (int64_t r = 0; r < R; r++) {
        REAL *row = dz + r * wide;
        if (!el_valid(lengths, t, from + r)) memcpy(mine->pulled + r * ld, mine->dh + r * ld, (size_t)n * sizeof(REAL));
        if (call->m == 0 && call->grad_x)
            memcpy((REAL *)call->grad_x + (t * B + from + r) * 3 * n, row, (size_t)(3 * n) * sizeof(REAL));
    }
}

/* The gradients of shift, inner, W, U and x from a finished block. */
TARGET static void FN(gated_collect)(const FN(gated_run) *run, const FN(gated_part) *mine, int64_t first, int64_t last,
                                     int64_t from, int64_t to) {
    const el_gated *call = run->call;
    const int64_t T = call->T, B = call->B, n = call->n, m = call->m, ld = FN(stride)(n), ldm = FN(stride)(m);
    const int64_t R = to - from, count = (last - first) * R, wide = FN(three)(n);
    const REAL *dz = mine->dz;
    REAL *packed = mine->packed_rows;
    if (call->grad_shift) FN(add_rows)(count, call->shift_gates * n, wide, mine->grad_shift, dz);
    if (call->grad_inner) FN(add_rows)(count, n, ld, mine->grad_inner, mine->inner);
    if (call->grad_W) {
        FN(gather_previous)(call->out, call->h0, T, B, n, call->lengths, call->reverse, first, last, from, to, mine->pad,
                            mine->rows);
        FN(pack_rows)(count, n, mine->rows, packed);
        FN(multiply_transposed)(2 * n, n, count, dz, wide, packed, mine->grad_W, ld);
        if (call->before) {
            for (int64_t i = first, k = 0; i < last; i++) {
                const REAL *gates = (const REAL *)call->gates + el_time(T, i, call->reverse) * B * 3 * n;
                for (int64_t b = from; b < to; b++, k++) {
                    REAL *product = mine->products + k * ld;
                    if (call->bits) {
                        FN(gates_to_grid)(run->grid, n, gates + b * 3 * n, mine->rounded);
                        FN(product_to_grid)(run->grid, n, mine->rounded, mine->rows[k], product);
                    } else {
                        FN(multiply_rows)(n, gates + b * 3 * n, mine->rows[k], product);
                    }
                    mine->rows[k] = product;
                }
            }
            FN(pack_rows)(count, n, mine->rows, packed);
        }
        REAL *grad = mine->grad_W + 2 * n * ld;
        if (call->before)
            FN(multiply_transposed)(n, n, count, dz + 2 * n, wide, packed, grad, ld);
        else
            FN(multiply_transposed)(n, n, count, mine->inner, ld, packed, grad, ld);
    }
    if (call->grad_U || call->grad_input_step)
        FN(collect_input)(&run->input, first, last, from, to, 3 * n, dz, wide, mine->input, mine->rows, packed,
                          mine->grad_U);
    if (m > 0 && call->grad_x) {
        FN(multiply)(count, m, 3 * n, dz, wide, run->U, mine->dx, ldm, NULL, 0);
        FN(scatter_input)(&run->input, first, last, from, to, mine->dx, ldm, call->grad_x);
    }
}

TARGET static void FN(gated_backward_part)(void *context, int index) {
    const FN(gated_run) *run = context;
    const el_gated *call = run->call;
    FN(gated_part) mine = run->part[index];
    const int64_t T = call->T, n = call->n, ld = FN(stride)(n), wide = FN(three)(n);
    const int64_t ldu = FN(stride)(FN(input_width)(&run->input));
    const int64_t from = el_slice(call->B, run->parts, index), to = el_slice(call->B, run->parts, index + 1);
    const int64_t R = to - from;
    const REAL *grad_h_n = call->grad_h_n;
    memset(mine.grad_W, 0, (size_t)(call->grad_W ? 3 * n * ld : 0) * sizeof(REAL));
    memset(mine.grad_U, 0, (size_t)(3 * n * ldu) * sizeof(REAL));
    memset(mine.grad_shift, 0, (size_t)wide * sizeof(REAL));
    memset(mine.grad_threshold, 0, (size_t)ld * sizeof(REAL));
    memset(mine.grad_inner, 0, (size_t)ld * sizeof(REAL));
    if (call->grad_step) memset(mine.grad_step, 0, (size_t)ld * sizeof(REAL));
    memset(mine.pad, 0, (size_t)n * sizeof(REAL));
    for (int64_t r = 0; r < R; r++)
        FN(padded_row)(grad_h_n ? grad_h_n + (from + r) * n : NULL, n, mine.dh + r * ld);
    for (int64_t last = T; last > 0;) {
        const int64_t first = (last - 1) / run->steps * run->steps;
        for (int64_t i = last - 1; i >= first; i--) {
            const int64_t row = (i - first) * R;
            FN(gated_pull)(run, &mine, el_time(T, i, call->reverse), from, R, mine.dz + row * wide,
                           mine.inner + row * ld);
            REAL *const before = mine.dh;
            mine.dh = mine.pulled;
            mine.pulled = before;
        }
        FN(gated_collect)(run, &mine, first, last, from, to);
        last = first;
    }
    if (call->grad_h0)
        for (int64_t r = 0; r < R; r++)
            memcpy((REAL *)call->grad_h0 + (from + r) * n, mine.dh + r * ld, (size_t)n * sizeof(REAL));
}

TARGET static void FN(gated_backward_layout)(FN(gated_run) *run, el_block *block) {
    const el_gated *call = run->call;
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), ldm = FN(stride)(m), wide = FN(three)(n);
    const int64_t ldu = FN(stride)(FN(input_width)(&run->input));
    const int64_t R = el_most_rows(call->B, run->parts), count = run->steps * R;
    const size_t real = sizeof(REAL);
    run->gates_W = el_cut(block, (size_t)(2 * n * FN(padded)(n)) * real);
    run->candidate_W = el_cut(block, (size_t)(n * FN(padded)(n)) * real);
    run->U = el_cut(block, (size_t)(3 * n * FN(padded)(m)) * real);
    for (int p = 0; p < run->parts; p++) {
        FN(gated_part) *part = &run->part[p];
        part->dh = el_cut(block, (size_t)(R * ld) * real);
        part->pulled = el_cut(block, (size_t)(R * ld) * real);
        part->dz = el_cut(block, (size_t)(count * wide) * real);
        part->inner = el_cut(block, (size_t)(count * ld) * real);
        part->products = el_cut(block, call->before ? (size_t)(count * ld) * real : 0);
        part->rounded = el_cut(block, call->bits ? (size_t)n * real : 0);
        part->input = el_cut(block, (size_t)(count * FN(input_scratch)(&run->input)) * real);
        part->packed_rows = el_cut(block, (size_t)(count * (ld > ldu ? ld : ldu)) * real);
        part->dx = el_cut(block, (size_t)(count * ldm) * real);
        part->rows = el_cut(block, (size_t)count * sizeof(REAL *));
        part->pad = el_cut(block, (size_t)n * real);
    }
    for (int p = 0; p < run->parts; p++) run->part[p].grad_W = el_cut(block, (size_t)(3 * n * ld) * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_U = el_cut(block, (size_t)(3 * n * ldu) * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_shift = el_cut(block, (size_t)wide * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_threshold = el_cut(block, (size_t)ld * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_inner = el_cut(block, (size_t)ld * real);
    for (int p = 0; p < run->parts; p++)
        run->part[p].grad_step = el_cut(block, call->grad_step ? (size_t)ld * real : 0);
}

TARGET static int FN(gated_backward)(const el_gated *call) {
    FN(gated_run) run = {.call = call, .input = INPUT_OF(call)};
    if (call->bits) run.grid = FN(grid_of)(call->bits, call->step);
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), wide = FN(three)(n);
    const int64_t ldu = FN(stride)(FN(input_width)(&run.input));
    run.parts = el_parts(call->T, call->B, 3 * n * (n + m), el_smaller(call->threads, EL_MOST_PARTS));
    run.steps = el_block_steps(call->T, el_most_rows(call->B, run.parts));
    el_block block = {0};
    FN(gated_backward_layout)(&run, &block);
    void *base = el_borrow(block.used);
    if (!base) return -1;
    block = (el_block){.base = base};
    FN(gated_backward_layout)(&run, &block);
    FN(pack_plain)(2 * n, n, call->W, run.gates_W);
    FN(pack_plain)(n, n, (const REAL *)call->W + 2 * n * n, run.candidate_W);
    if (m > 0 && call->grad_x) FN(pack_plain)(3 * n, m, call->U, run.U);
    if (call->grad_x) el_will_fill(call->grad_x, (size_t)(call->T * call->B * (m > 0 ? m : 3 * n)) * sizeof(REAL));
    el_parallel(run.parts, FN(gated_backward_part), &run);
    const FN(gated_part) *part = run.part;
    const int parts = run.parts;
#define DISTANCE(field) (parts > 1 ? part[1].field - part[0].field : 0)
    if (call->grad_W) FN(sum_parts)(3 * n, n, ld, parts, part->grad_W, DISTANCE(grad_W), call->grad_W);
    if (call->grad_U) FN(sum_parts)(3 * n, m, ldu, parts, part->grad_U, DISTANCE(grad_U), call->grad_U);
    if (call->grad_input_step)
        FN(sum_input_slopes)(&run.input, 3 * n, call->U, parts, part->grad_U, DISTANCE(grad_U), call->grad_input_step);
    if (call->grad_shift)
        FN(sum_parts)(1, call->shift_gates * n, wide, parts, part->grad_shift, DISTANCE(grad_shift), call->grad_shift);
    if (call->grad_threshold)
        FN(sum_parts)(1, n, ld, parts, part->grad_threshold, DISTANCE(grad_threshold), call->grad_threshold);
    if (call->grad_inner) FN(sum_parts)(1, n, ld, parts, part->grad_inner, DISTANCE(grad_inner), call->grad_inner);
    if (call->grad_step) FN(sum_of_rows)(n, parts, part->grad_step, DISTANCE(grad_step), call->grad_step);
#undef DISTANCE
    el_return(base);
    return 0;
}
