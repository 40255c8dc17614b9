/* The LSTM back through time: from the gradients of its outputs to those of everything it was given. */

/* dz of the four gates from dh and dcell; dcell becomes the gradient of the cell before. */
TARGET static void FN(unlstm_row)(int64_t activation, REAL slope, int64_t n, const REAL *restrict gates,
                                  const REAL *restrict before, const REAL *restrict after, const REAL *restrict dh,
                                  REAL *restrict dcell, REAL *restrict dz) {
    const REAL *restrict i = gates, *restrict f = gates + n, *restrict g = gates + 2 * n, *restrict o = gates + 3 * n;
    FOR_ACTIVATION(activation, for (int64_t j = 0; j < n; j++) {
        const REAL squashed = FN(tangent)(after[j]);
        const REAL dc = dcell[j] + dh[j] * o[j] * (1 - squashed * squashed);
        dz[j] = dc * g[j] * (i[j] * (1 - i[j]));
        dz[n + j] = dc * before[j] * (f[j] * (1 - f[j]));
        dz[2 * n + j] = dc * i[j] * FN(derivative)(ACTIVATION, slope, g[j]);
        dz[3 * n + j] = dh[j] * squashed * (o[j] * (1 - o[j]));
        dcell[j] = dc * f[j];
    });
}

/* The rows of a step that was rounded, one after the other: the compiler makes vectors of loops that are short. Each
 * computes what was rounded again, from the gates as they were before. */

/* From dh to dz of the output gate, which has tanh of the cell before, and to what the cell gets; dcell becomes the
 * gradient of the rounded cell. */
TARGET static void FN(unstate_on_grid)(FN(grid) grid, FN(grid) state, int64_t n, const REAL *restrict o,
                                       const REAL *restrict dh, REAL *restrict dcell, REAL *restrict dz) {
    for (int64_t j = 0; j < n; j++) {
        const REAL squashed = dz[j];
        const REAL output = FN(gate_on_grid)(grid, o[j]);
        const REAL k = FN(code)(state, output * squashed * state.inverse);
        const REAL dstate = FN(inside)(state, k) ? dh[j] : 0;
        dcell[j] += dstate * output * (1 - squashed * squashed);
        dz[j] = dstate * squashed * (o[j] * (1 - o[j]));
    }
}

/* What the step gets from the gradient of the rounded cell: through the cell itself, and through a candidate that is on
 * the same grid. */
TARGET static void FN(add_cell_slopes)(FN(grid) grid, FN(grid) candidate, REAL shares_step, int64_t n,
                                       const REAL *restrict i, const REAL *restrict f, const REAL *restrict g,
                                       const REAL *restrict before, const REAL *restrict dcell,
                                       REAL *restrict to_step) {
    for (int64_t j = 0; j < n; j++) {
        const REAL input = FN(gate_on_grid)(grid, i[j]);
        const REAL v_g = g[j] * candidate.inverse;
        const REAL k_g = FN(code)(candidate, v_g);
        const REAL end_g = FN(clamped)(candidate, k_g);
        const REAL of_candidate = FN(inside)(candidate, k_g) ? k_g - v_g : end_g;
        const REAL v_c = (FN(gate_on_grid)(grid, f[j]) * before[j] + input * (end_g * candidate.step)) * grid.inverse;
        const REAL k_c = FN(code)(grid, v_c + grid.margin);
        const int passes = FN(inside)(grid, k_c);
        const REAL of_cell = passes ? k_c - v_c : FN(clamped)(grid, k_c);
        const REAL through = passes ? input * of_candidate : 0;
        to_step[j] += dcell[j] * (of_cell + shares_step * through);
    }
}

/* From the gradient of the rounded cell to dz of i, f and g; dcell becomes the gradient of the cell before. */
TARGET static void FN(uncell_on_grid)(FN(grid) grid, FN(grid) candidate, int64_t activation, REAL slope, int64_t n,
                                      const REAL *restrict i, const REAL *restrict f, const REAL *restrict g,
                                      const REAL *restrict before, REAL *restrict dcell, REAL *restrict di,
                                      REAL *restrict df, REAL *restrict dg) {
    FOR_ACTIVATION(activation, for (int64_t j = 0; j < n; j++) {
        const REAL input = FN(gate_on_grid)(grid, i[j]);
        const REAL forget = FN(gate_on_grid)(grid, f[j]);
        const REAL k_g = FN(code)(candidate, g[j] * candidate.inverse);
        const REAL chosen = FN(clamped)(candidate, k_g) * candidate.step;
        const REAL k_c = FN(code)(grid, (forget * before[j] + input * chosen) * grid.inverse + grid.margin);
        const REAL dsum = FN(inside)(grid, k_c) ? dcell[j] : 0;
        const REAL dchosen = FN(inside)(candidate, k_g) ? dsum * input : 0;
        di[j] = dsum * chosen * (i[j] * (1 - i[j]));
        df[j] = dsum * before[j] * (f[j] * (1 - f[j]));
        dg[j] = dchosen * FN(derivative)(ACTIVATION, slope, g[j]);
        dcell[j] = dsum * forget;
    });
}

/* unlstm_row where gates, candidate, cell and state were rounded; what the step gets is added to `to_step` if that is
 * there. */
TARGET static void FN(unlstm_on_grid)(const FN(lstm_run) *run, const REAL *gates, const REAL *before, const REAL *after,
                                      const REAL *dh, REAL *dcell, REAL *dz, REAL *to_step) {
    const int64_t n = run->call->n, activation = run->call->activation;
    const REAL *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
    FN(tangent_row)(n, after, dz + 3 * n);
    FN(unstate_on_grid)(run->grid, run->state, n, o, dh, dcell, dz + 3 * n);
    if (to_step)
        FN(add_cell_slopes)(run->grid, run->candidate, activation == EL_TANH ? 0 : 1, n, i, f, g, before, dcell, to_step);
    FN(uncell_on_grid)(run->grid, run->candidate, activation, (REAL)run->call->slope, n, i, f, g, before, dcell, dz, dz + n,
                       dz + 2 * n);
}

/* The cells before the steps [first, last) and after the last of them, from the one that was kept before the first. */
TARGET static void FN(lstm_cells)(const FN(lstm_run) *run, const FN(lstm_part) *mine, int64_t first, int64_t last,
                                  int64_t from, int64_t R) {
    const el_lstm *call = run->call;
    const int64_t B = call->B, n = call->n, ld = FN(stride)(n);
    const FN(grid) grid = run->grid, candidate = run->candidate;
    const REAL *kept = (const REAL *)call->cells + (first / EL_CELL_STEPS * B + from) * n;
    for (int64_t r = 0; r < R; r++) memcpy(mine->cells + r * ld, kept + r * n, (size_t)n * sizeof(REAL));
    for (int64_t i = first; i < last; i++) {
        const int64_t t = el_time(call->T, i, call->reverse);
        for (int64_t r = 0; r < R; r++) {
            const REAL *restrict before = mine->cells + ((i - first) * R + r) * ld;
            const REAL *restrict gates = (const REAL *)call->gates + (t * B + from + r) * 4 * n;
            REAL *restrict after = mine->cells + ((i - first + 1) * R + r) * ld;
            if (!el_valid(call->lengths, t, from + r))
                memcpy(after, before, (size_t)n * sizeof(REAL));
            else if (call->bits)
                for (int64_t j = 0; j < n; j++)
                    after[j] = FN(blend_on_grid)(grid, FN(unrounded_cell)(grid, candidate, gates[j], gates[n + j],
                                                                          gates[2 * n + j], before[j]));
            else
                for (int64_t j = 0; j < n; j++) after[j] = gates[n + j] * before[j] + gates[j] * gates[2 * n + j];
        }
    }
}

/* One step back: fills this step's rows of dz. `cells` are those before it, and behind them those after it. */
TARGET static void FN(lstm_pull)(const FN(lstm_run) *run, const FN(lstm_part) *mine, int64_t t, int64_t from, int64_t R,
                                 const REAL *cells, REAL *dz) {
    const el_lstm *call = run->call;
    const int64_t B = call->B, n = call->n, ld = FN(stride)(n), wide = FN(stride)(4 * n);
    const REAL *grad_out = call->grad_out;
    for (int64_t r = 0; r < R; r++) {
        const int64_t place = t * B + from + r;
        REAL *row = dz + r * wide, *g = mine->dh + r * ld;
        if (!el_valid(call->lengths, t, from + r)) {
            memset(row, 0, (size_t)(4 * n) * sizeof(REAL));
        } else {
            const REAL *gates = (const REAL *)call->gates + place * 4 * n;
            if (grad_out) FN(add_row)(n, g, grad_out + t * call->grad_out_t + (from + r) * call->grad_out_b);
            if (call->bits)
                FN(unlstm_on_grid)(run, gates, cells + r * ld, cells + (R + r) * ld, g, mine->dcell + r * ld, row,
                                   call->grad_step ? mine->grad_step : NULL);
            else
                FN(unlstm_row)(call->activation, (REAL)call->slope, n, gates, cells + r * ld, cells + (R + r) * ld, g,
                               mine->dcell + r * ld, row);
            if (call->grad_threshold) FN(add_signed_row)(n, mine->grad_threshold, gates + 2 * n, row + 2 * n);
        }
        if (call->m == 0 && call->grad_x)
            memcpy((REAL *)call->grad_x + place * 4 * n, row, (size_t)(4 * n) * sizeof(REAL));
    }
}

/* The gradients of shift, W, U and x from a finished block. */
TARGET static void FN(lstm_collect)(const FN(lstm_run) *run, const FN(lstm_part) *mine, int64_t first, int64_t last,
                                    int64_t from, int64_t to) {
    const el_lstm *call = run->call;
    const int64_t T = call->T, B = call->B, n = call->n, m = call->m, ld = FN(stride)(n), ldm = FN(stride)(m);
    const int64_t wide = FN(stride)(4 * n), count = (last - first) * (to - from);
    const REAL *dz = mine->dz;
    if (call->grad_shift) FN(add_rows)(count, 4 * n, wide, mine->grad_shift, dz);
    if (call->grad_W) {
        FN(gather_previous)(call->out, call->h0, T, B, n, call->lengths, call->reverse, first, last, from, to, mine->pad,
                            mine->rows);
        FN(pack_rows)(count, n, mine->rows, mine->packed_rows);
        FN(multiply_transposed)(4 * n, n, count, dz, wide, mine->packed_rows, mine->grad_W, ld);
    }
    if (call->grad_U || call->grad_input_step)
        FN(collect_input)(&run->input, first, last, from, to, 4 * n, dz, wide, mine->input, mine->rows, mine->packed_rows,
                          mine->grad_U);
    if (m > 0 && call->grad_x) {
        FN(multiply)(count, m, 4 * n, dz, wide, run->U, mine->dx, ldm, NULL, 0);
        FN(scatter_input)(&run->input, first, last, from, to, mine->dx, ldm, call->grad_x);
    }
}

TARGET static void FN(lstm_backward_part)(void *context, int index) {
    const FN(lstm_run) *run = context;
    const el_lstm *call = run->call;
    FN(lstm_part) mine = run->part[index];
    const int64_t T = call->T, n = call->n, ld = FN(stride)(n), ldu = FN(stride)(FN(input_width)(&run->input));
    const int64_t wide = FN(stride)(4 * n);
    const int64_t from = el_slice(call->B, run->parts, index), to = el_slice(call->B, run->parts, index + 1);
    const int64_t R = to - from;
    const REAL *grad_h_n = call->grad_h_n, *grad_c_n = call->grad_c_n;
    memset(mine.grad_W, 0, (size_t)(call->grad_W ? 4 * n * ld : 0) * sizeof(REAL));
    memset(mine.grad_U, 0, (size_t)(4 * n * ldu) * sizeof(REAL));
    memset(mine.grad_shift, 0, (size_t)wide * sizeof(REAL));
    memset(mine.grad_threshold, 0, (size_t)ld * sizeof(REAL));
    if (call->grad_step) memset(mine.grad_step, 0, (size_t)ld * sizeof(REAL));
    memset(mine.pad, 0, (size_t)n * sizeof(REAL));
    for (int64_t r = 0; r < R; r++) {
        FN(padded_row)(grad_h_n ? grad_h_n + (from + r) * n : NULL, n, mine.dh + r * ld);
        FN(padded_row)(grad_c_n ? grad_c_n + (from + r) * n : NULL, n, mine.dcell + r * ld);
    }
    for (int64_t last = T; last > 0;) {
        const int64_t first = (last - 1) / run->steps * run->steps;
        for (int64_t i = last - 1; i >= first; i--) {
            const int64_t t = el_time(T, i, call->reverse);
            const int64_t segment = i / EL_CELL_STEPS * EL_CELL_STEPS;
            if (i == el_smaller(T, segment + EL_CELL_STEPS) - 1) FN(lstm_cells)(run, &mine, segment, i + 1, from, R);
            REAL *dz = mine.dz + (i - first) * R * wide;
            FN(lstm_pull)(run, &mine, t, from, R, mine.cells + (i - segment) * R * ld, dz);
            if (i == 0 && !call->grad_h0) continue; /* nothing stands before the first step */
            FN(multiply)(R, n, 4 * n, dz, wide, run->W, mine.pulled, ld, NULL, 0);
            for (int64_t r = 0; r < R; r++)
                if (!el_valid(call->lengths, t, from + r))
                    memcpy(mine.pulled + r * ld, mine.dh + r * ld, (size_t)n * sizeof(REAL));
            REAL *const before = mine.dh;
            mine.dh = mine.pulled;
            mine.pulled = before;
        }
        FN(lstm_collect)(run, &mine, first, last, from, to);
        last = first;
    }
    for (int64_t r = 0; r < R; r++) {
        if (call->grad_h0)
            memcpy((REAL *)call->grad_h0 + (from + r) * n, mine.dh + r * ld, (size_t)n * sizeof(REAL));
        if (call->grad_c0)
            memcpy((REAL *)call->grad_c0 + (from + r) * n, mine.dcell + r * ld, (size_t)n * sizeof(REAL));
    }
}

TARGET static void FN(lstm_backward_layout)(FN(lstm_run) *run, el_block *block) {
    const el_lstm *call = run->call;
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), ldm = FN(stride)(m), wide = FN(stride)(4 * n);
    const int64_t ldu = FN(stride)(FN(input_width)(&run->input));
    const int64_t R = el_most_rows(call->B, run->parts), count = run->steps * R;
    const size_t real = sizeof(REAL);
    run->W = el_cut(block, (size_t)(4 * n * FN(padded)(n)) * real);
    run->U = el_cut(block, (size_t)(4 * n * FN(padded)(m)) * real);
    for (int p = 0; p < run->parts; p++) {
        FN(lstm_part) *part = &run->part[p];
        part->dh = el_cut(block, (size_t)(R * ld) * real);
        part->pulled = el_cut(block, (size_t)(R * ld) * real);
        part->dcell = el_cut(block, (size_t)(R * ld) * real);
        part->cells = el_cut(block, (size_t)((EL_CELL_STEPS + 1) * R * ld) * real);
        part->dz = el_cut(block, (size_t)(count * wide) * real);
        part->input = el_cut(block, (size_t)(count * FN(input_scratch)(&run->input)) * real);
        part->packed_rows = el_cut(block, (size_t)(count * (ld > ldu ? ld : ldu)) * real);
        part->dx = el_cut(block, (size_t)(count * ldm) * real);
        part->rows = el_cut(block, (size_t)count * sizeof(REAL *));
        part->pad = el_cut(block, (size_t)n * real);
    }
    /* Laid out part after part at one distance, as sum_parts wants them. */
    for (int p = 0; p < run->parts; p++) run->part[p].grad_W = el_cut(block, (size_t)(4 * n * ld) * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_U = el_cut(block, (size_t)(4 * n * ldu) * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_shift = el_cut(block, (size_t)wide * real);
    for (int p = 0; p < run->parts; p++) run->part[p].grad_threshold = el_cut(block, (size_t)ld * real);
    for (int p = 0; p < run->parts; p++)
        run->part[p].grad_step = el_cut(block, call->grad_step ? (size_t)ld * real : 0);
}

TARGET static int FN(lstm_backward)(const el_lstm *call) {
    FN(lstm_run) run = {.call = call, .input = INPUT_OF(call)};
    FN(lstm_grids)(&run);
    const int64_t n = call->n, m = call->m, ld = FN(stride)(n), wide = FN(stride)(4 * n);
    const int64_t ldu = FN(stride)(FN(input_width)(&run.input));
    run.parts = el_parts(call->T, call->B, 4 * n * (n + m), el_smaller(call->threads, EL_MOST_PARTS));
    run.steps = el_block_steps(call->T, el_most_rows(call->B, run.parts));
    el_block block = {0};
    FN(lstm_backward_layout)(&run, &block);
    void *base = el_borrow(block.used);
    if (!base) return -1;
    block = (el_block){.base = base};
    FN(lstm_backward_layout)(&run, &block);
    FN(pack_plain)(4 * n, n, call->W, run.W);
    if (m > 0 && call->grad_x) FN(pack_plain)(4 * n, m, call->U, run.U);
    if (call->grad_x) el_will_fill(call->grad_x, (size_t)(call->T * call->B * (m > 0 ? m : 4 * n)) * sizeof(REAL));
    el_parallel(run.parts, FN(lstm_backward_part), &run);
    const FN(lstm_part) *part = run.part;
    const int parts = run.parts;
#define DISTANCE(field) (parts > 1 ? part[1].field - part[0].field : 0)
    if (call->grad_W) FN(sum_parts)(4 * n, n, ld, parts, part->grad_W, DISTANCE(grad_W), call->grad_W);
    if (call->grad_U) FN(sum_parts)(4 * n, m, ldu, parts, part->grad_U, DISTANCE(grad_U), call->grad_U);
    if (call->grad_input_step)
        FN(sum_input_slopes)(&run.input, 4 * n, call->U, parts, part->grad_U, DISTANCE(grad_U), call->grad_input_step);
    if (call->grad_shift) FN(sum_parts)(1, 4 * n, wide, parts, part->grad_shift, DISTANCE(grad_shift), call->grad_shift);
    if (call->grad_threshold)
        FN(sum_parts)(1, n, ld, parts, part->grad_threshold, DISTANCE(grad_threshold), call->grad_threshold);
    if (call->grad_step) FN(sum_of_rows)(n, parts, part->grad_step, DISTANCE(grad_step), call->grad_step);
#undef DISTANCE
    el_return(base);
    return 0;
}
