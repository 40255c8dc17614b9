/* Bringing rows of the input and of the states to where a product wants them, and the gradient of the input back. */

/* The input of a call: where it lies, and its grid if it is rounded before the product with U. */
typedef struct {
    const REAL *x;
    int64_t x_t, x_b, m, T, B, reverse;
    const int64_t *lengths;
    int rounds, slopes; /* slopes: dq/ds of every number is wanted too */
    FN(grid) grid;
} FN(input);

/* Of any of the three calls. */
#define INPUT_OF(call)                                                                                              \
    (FN(input)) {                                                                                                   \
        .x = (call)->x, .x_t = (call)->x_t, .x_b = (call)->x_b, .m = (call)->m, .T = (call)->T, .B = (call)->B,     \
        .reverse = (call)->reverse, .lengths = (call)->lengths, .rounds = (call)->input_step != NULL,               \
        .slopes = (call)->grad_input_step != NULL,                                                                  \
        .grid = (call)->input_step ? FN(grid_of)((call)->bits, (call)->input_step) : (FN(grid)){0}                  \
    }

/* Numbers in a row of a product's operand: x, and beside it dq/ds. */
TARGET static inline int64_t FN(input_width)(const FN(input) *input) { return input->slopes ? 2 * input->m : input->m; }

/* Numbers of scratch for a row of collect_input. */
TARGET static inline int64_t FN(input_scratch)(const FN(input) *input) { return input->slopes ? 4 * input->m : input->m; }

/* The input rows of the steps [first, last) and sequences [from, to) one after the other, and behind them as many of dq/ds;
 * zero where not valid, so that whatever stands in the padding never reaches a gradient. */
TARGET static void FN(gather_input)(const FN(input) *input, int64_t first, int64_t last, int64_t from, int64_t to,
                                    REAL *rows) {
    const int64_t m = input->m, size = (last - first) * (to - from) * m;
    REAL *const block = rows;
    for (int64_t i = first; i < last; i++) {
        const int64_t t = el_time(input->T, i, input->reverse);
        for (int64_t b = from; b < to; b++, rows += m) {
            if (el_valid(input->lengths, t, b))
                memcpy(rows, input->x + t * input->x_t + b * input->x_b, (size_t)m * sizeof(REAL));
            else
                memset(rows, 0, (size_t)m * sizeof(REAL));
        }
    }
    /* All at once: a row is often shorter than a vector. */
    if (input->rounds && input->slopes) FN(row_to_slopes)(input->grid, size, block, block + size);
    if (input->rounds) FN(stay_on_grid)(input->grid, size, block);
}

/* Where the state that a valid step started from lies. */
TARGET static inline const REAL *FN(previous)(const REAL *out, const REAL *h0, int64_t T, int64_t B, int64_t n,
                                              const int64_t *lengths, int64_t t, int64_t b, int64_t reverse) {
    if (el_first(T, lengths, t, b, reverse)) return h0 + b * n;
    return out + ((t + (reverse ? 1 : -1)) * B + b) * n;
}

/* The states that the steps [first, last) of the sequences [from, to) started from, one pointer a row; `pad`, zeros,
 * where a step is not valid. */
TARGET static void FN(gather_previous)(const REAL *out, const REAL *h0, int64_t T, int64_t B, int64_t n,
                                       const int64_t *lengths, int64_t reverse, int64_t first, int64_t last,
                                       int64_t from, int64_t to, const REAL *pad, const REAL **rows) {
    for (int64_t i = first; i < last; i++) {
        const int64_t t = el_time(T, i, reverse);
        for (int64_t b = from; b < to; b++, rows++)
            *rows = el_valid(lengths, t, b) ? FN(previous)(out, h0, T, B, n, lengths, t, b, reverse) : pad;
    }
}

/* Add dz^T [x, dq/ds] of the steps [first, last) to `grad_U`, given `gates` columns of dz. `gathered`, `rows` and `packed`
 * are scratch. */
TARGET static void FN(collect_input)(const FN(input) *input, int64_t first, int64_t last, int64_t from, int64_t to,
                                     int64_t gates, const REAL *dz, int64_t ld, REAL *gathered, const REAL **rows,
                                     REAL *packed, REAL *grad_U) {
    const int64_t m = input->m, width = FN(input_width)(input), count = (last - first) * (to - from);
    FN(gather_input)(input, first, last, from, to, gathered);
    REAL *pairs = gathered + 2 * count * m;
    for (int64_t k = 0; k < count; k++) {
        rows[k] = input->slopes ? pairs + k * width : gathered + k * width;
        if (!input->slopes) continue;
        memcpy(pairs + k * width, gathered + k * m, (size_t)m * sizeof(REAL));
        memcpy(pairs + k * width + m, gathered + (count + k) * m, (size_t)m * sizeof(REAL));
    }
    FN(pack_rows)(count, width, rows, packed);
    FN(multiply_transposed)(gates, width, count, dz, ld, packed, grad_U, FN(stride)(width));
}

/* The gradient of the input, a block of rows at distance ld, to where it belongs in a contiguous (T, B, m) array. */
TARGET static void FN(scatter_input)(const FN(input) *input, int64_t first, int64_t last, int64_t from, int64_t to,
                                     const REAL *rows, int64_t ld, REAL *grad_x) {
    const int64_t m = input->m;
    for (int64_t i = first; i < last; i++) {
        const int64_t t = el_time(input->T, i, input->reverse);
        for (int64_t b = from; b < to; b++, rows += ld) {
            REAL *to_row = grad_x + (t * input->B + b) * m;
            if (input->rounds)
                FN(through_grid)(input->grid, m, input->x + t * input->x_t + b * input->x_b, rows, to_row);
            else
                memcpy(to_row, rows, (size_t)m * sizeof(REAL));
        }
    }
}

/* The gradient of the input's step, <U, dz^T dq/ds>, from what the parts collected beside their gradients of U. */
TARGET static void FN(sum_input_slopes)(const FN(input) *input, int64_t gates, const REAL *U, int parts,
                                        const REAL *private, int64_t distance, REAL *total) {
    const int64_t m = input->m, ld = FN(stride)(2 * m);
    double sum = 0;
    for (int p = 0; p < parts; p++)
        for (int64_t i = 0; i < gates; i++)
            for (int64_t k = 0; k < m; k++)
                sum += (double)U[i * m + k] * (double)private[p * distance + i * ld + m + k];
    *total = (REAL)sum;
}

/* A row of n numbers with room for whole vectors; zeros without one. */
TARGET static void FN(padded_row)(const REAL *row, int64_t n, REAL *to) {
    for (int64_t j = 0; j < FN(stride)(n); j++) to[j] = row && j < n ? row[j] : 0;
}

/* Sum the parts' private (rows x ld) arrays into a contiguous (rows x n) one, in the order of the parts. */
TARGET static void FN(sum_parts)(int64_t rows, int64_t n, int64_t ld, int parts, const REAL *private, int64_t distance,
                                 REAL *total) {
    for (int64_t i = 0; i < rows; i++) {
        memcpy(total + i * n, private + i * ld, (size_t)n * sizeof(REAL));
        for (int p = 1; p < parts; p++) FN(add_row)(n, total + i * n, private + p * distance + i * ld);
    }
}
