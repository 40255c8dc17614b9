/* Bringing rows of the input and of the states to where a product wants them. */

/* The input rows of the steps [first, last) and sequences [from, to) into a (rows x m) array; zero where not valid,
 * so that whatever stands in the padding never reaches a gradient. */
TARGET static void FN(gather_input)(const REAL *x, int64_t x_t, int64_t x_b, int64_t m, int64_t T, int64_t reverse,
                                    const int64_t *lengths, int64_t first, int64_t last, int64_t from, int64_t to,
                                    REAL *rows) {
    for (int64_t i = first; i < last; i++) {
        const int64_t t = el_time(T, i, reverse);
        for (int64_t b = from; b < to; b++, rows += m) {
            if (el_valid(lengths, t, b))
                memcpy(rows, x + t * x_t + b * x_b, (size_t)m * sizeof(REAL));
            else
                memset(rows, 0, (size_t)m * sizeof(REAL));
        }
    }
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

/* Pack `count` gathered input rows of m numbers for a product; `rows` is scratch for as many pointers. */
TARGET static void FN(pack_input)(int64_t count, int64_t m, const REAL *input, const REAL **rows, REAL *packed) {
    for (int64_t k = 0; k < count; k++) rows[k] = input + k * m;
    FN(pack_rows)(count, m, rows, packed);
}

/* The gradient of the input, a block of rows at distance ld, to where it belongs in a contiguous (T, B, m) array. */
TARGET static void FN(scatter_input)(const REAL *rows, int64_t ld, int64_t m, int64_t T, int64_t B, int64_t reverse,
                                     int64_t first, int64_t last, int64_t from, int64_t to, REAL *grad_x) {
    for (int64_t i = first; i < last; i++)
        for (int64_t b = from; b < to; b++, rows += ld)
            memcpy(grad_x + (el_time(T, i, reverse) * B + b) * m, rows, (size_t)m * sizeof(REAL));
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
