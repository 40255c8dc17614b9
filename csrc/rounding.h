/* Rounding states and gates to a grid, q(v) = s clamp(floor(v / s + 1/2), low, high), and back; the rule and the gradients
 * are those of src/eigenloop/recurrence/rounding.py. v / s is v times 1 / s. NaN passes through. */

typedef struct {
    REAL step, inverse, low, high;
    REAL unit, half; /* the step of gates, 2^-(bits - 1), and its inverse */
    REAL margin;     /* a quarter of `unit`: added to v / s of products with gates, where halves are common; less in an LSTM */
} FN(grid);

TARGET static inline FN(grid) FN(grid_of)(int64_t bits, const void *step) {
    const REAL half = (REAL)((int64_t)1 << (bits - 1)), s = *(const REAL *)step;
    return (FN(grid)){.step = s, .inverse = 1 / s, .low = -half, .high = half - 1, .unit = 1 / half, .half = half,
                      .margin = (REAL)0.25 / half};
}

/* The grid of what lies in [-1, 1]. */
TARGET static inline FN(grid) FN(unit_grid)(FN(grid) grid) {
    grid.step = grid.unit;
    grid.inverse = grid.half;
    return grid;
}

/* floor(v + 1/2) for |v| < 2^21. ROUNDING takes halves to even: those that went down are taken up. */
TARGET static inline REAL FN(nearest)(REAL v) {
    const REAL k = v + ROUNDING - ROUNDING;
    return v - k >= (REAL)0.5 ? k + 1 : k;
}

/* The code before the clamp, as far as one below `low` and one above `high`. */
TARGET static inline REAL FN(code)(FN(grid) grid, REAL v) {
    v = v < grid.low - 1 ? grid.low - 1 : v;
    v = v > grid.high + 1 ? grid.high + 1 : v;
    return FN(nearest)(v);
}

TARGET static inline REAL FN(clamped)(FN(grid) grid, REAL k) {
    k = k < grid.low ? grid.low : k;
    return k > grid.high ? grid.high : k;
}

TARGET static inline int FN(inside)(FN(grid) grid, REAL k) { return (k >= grid.low) & (k <= grid.high); }

TARGET static inline REAL FN(on_grid)(FN(grid) grid, REAL value) {
    return FN(clamped)(grid, FN(code)(grid, value * grid.inverse)) * grid.step;
}

/* q of a product with gates. */
TARGET static inline REAL FN(blend_on_grid)(FN(grid) grid, REAL value) {
    return FN(clamped)(grid, FN(code)(grid, value * grid.inverse + grid.margin)) * grid.step;
}

/* dq/ds of a product with gates: k - v / s inside the range, k outside of it. */
TARGET static inline REAL FN(slope_of_blend)(FN(grid) grid, REAL value) {
    const REAL v = value * grid.inverse, k = FN(code)(grid, v + grid.margin), end = FN(clamped)(grid, k);
    return FN(inside)(grid, k) ? k - v : end;
}

TARGET static inline REAL FN(gate_on_grid)(FN(grid) grid, REAL gate) {
    return FN(nearest)(gate * grid.half) * grid.unit;
}

TARGET static void FN(gates_to_grid)(FN(grid) grid, int64_t n, const REAL *restrict gates, REAL *restrict rounded) {
    for (int64_t j = 0; j < n; j++) rounded[j] = FN(gate_on_grid)(grid, gates[j]);
}

TARGET static void FN(row_to_grid)(FN(grid) grid, int64_t n, const REAL *restrict row, REAL *restrict rounded) {
    for (int64_t j = 0; j < n; j++) rounded[j] = FN(on_grid)(grid, row[j]);
}

TARGET static void FN(stay_on_grid)(FN(grid) grid, int64_t n, REAL *row) {
    for (int64_t j = 0; j < n; j++) row[j] = FN(on_grid)(grid, row[j]);
}

/* dq/ds: k - v / s inside the range, k outside of it. */
TARGET static void FN(row_to_slopes)(FN(grid) grid, int64_t n, const REAL *restrict row, REAL *restrict slopes) {
    for (int64_t j = 0; j < n; j++) {
        const REAL v = row[j] * grid.inverse, k = FN(code)(grid, v), end = FN(clamped)(grid, k);
        slopes[j] = FN(inside)(grid, k) ? k - v : end;
    }
}

/* The gradient of v from that of q(v). */
TARGET static void FN(through_grid)(FN(grid) grid, int64_t n, const REAL *restrict row, const REAL *restrict g,
                                    REAL *restrict to) {
    for (int64_t j = 0; j < n; j++) to[j] = FN(inside)(grid, FN(code)(grid, row[j] * grid.inverse)) ? g[j] : 0;
}

TARGET static void FN(blend_to_grid)(FN(grid) grid, int64_t n, const REAL *restrict row, REAL *restrict rounded) {
    for (int64_t j = 0; j < n; j++) rounded[j] = FN(blend_on_grid)(grid, row[j]);
}

/* c = q(a b), a being a gate. */
TARGET static void FN(product_to_grid)(FN(grid) grid, int64_t n, const REAL *restrict a, const REAL *restrict b,
                                       REAL *restrict c) {
    for (int64_t j = 0; j < n; j++) c[j] = FN(blend_on_grid)(grid, a[j] * b[j]);
}

/* Whether f(z) has the derivative of zero itself, where that differs from the one just above. */
TARGET static inline __attribute__((always_inline)) int FN(shut)(int activation, REAL value) {
    switch (activation) {
    case EL_RELU:
    case EL_LEAKY_RELU: return !(value > 0);
    case EL_MODRELU: return value == 0;
    default: return 0;
    }
}

/* state = q(f(z)) along a row; a state that is rounded to zero has -0 where f is shut, +0 where it is not. */
TARGET static void FN(activate_to_grid)(FN(grid) grid, int64_t activation, REAL slope, int64_t n,
                                        const REAL *restrict z, const REAL *threshold, REAL *restrict state) {
    const REAL *b = activation == EL_MODRELU ? threshold : z;
    FOR_ACTIVATION(activation, IN_VECTORS(n, {
                       const REAL value = FN(apply)(ACTIVATION, slope, z[j], b[j]);
                       const REAL k = FN(clamped)(grid, FN(code)(grid, value * grid.inverse));
                       const REAL zero = FN(shut)(ACTIVATION, value) ? -(REAL)0 : (REAL)0;
                       state[j] = k == 0 ? zero : k * grid.step;
                   }));
}

/* The same, and dq/ds of every state; one at an end of the range counts as outside. */
TARGET static void FN(activate_with_slopes)(FN(grid) grid, int64_t activation, REAL slope, int64_t n,
                                            const REAL *restrict z, const REAL *threshold, REAL *restrict state,
                                            REAL *restrict slopes) {
    const REAL *b = activation == EL_MODRELU ? threshold : z;
    FOR_ACTIVATION(activation, IN_VECTORS(n, {
                       const REAL value = FN(apply)(ACTIVATION, slope, z[j], b[j]);
                       const REAL v = value * grid.inverse;
                       const REAL k = FN(clamped)(grid, FN(code)(grid, v));
                       const REAL zero = FN(shut)(ACTIVATION, value) ? -(REAL)0 : (REAL)0;
                       const REAL within = k - v;
                       const int end = (k <= grid.low) | (k >= grid.high);
                       state[j] = k == 0 ? zero : k * grid.step;
                       slopes[j] = end ? k : within;
                   }));
}

TARGET static inline int FN(sign_bit)(REAL x) {
    FN(bits) pattern;
    memcpy(&pattern, &x, sizeof pattern);
    return (int)(pattern >> (8 * sizeof pattern - 1));
}

/* f'(z) read off a rounded state. */
TARGET static inline __attribute__((always_inline)) REAL FN(derivative_of_state)(int activation, REAL slope, REAL state) {
    switch (activation) {
    case EL_RELU: return FN(sign_bit)(state) ? 0 : (REAL)1;
    case EL_LEAKY_RELU: return FN(sign_bit)(state) ? slope : (REAL)1;
    case EL_MODRELU: return state == 0 && FN(sign_bit)(state) ? 0 : (REAL)1;
    default: return FN(derivative)(activation, slope, state);
    }
}

/* dz from the gradient g of a rounded state: nothing where that is at an end of the range. */
TARGET static void FN(deactivate_on_grid)(FN(grid) grid, int64_t activation, REAL slope, int64_t n,
                                          const REAL *restrict state, const REAL *restrict g, REAL *restrict dz) {
    const REAL least = grid.low * grid.step, largest = grid.high * grid.step;
    FOR_ACTIVATION(activation, _Pragma("GCC ivdep") for (int64_t j = 0; j < n; j++) {
        const REAL d = FN(derivative_of_state)(ACTIVATION, slope, state[j]);
        dz[j] = (state[j] > least) & (state[j] < largest) ? d * g[j] : 0;
    });
}

/* The same, and what the step gets. */
TARGET static void FN(deactivate_with_slopes)(FN(grid) grid, int64_t activation, REAL slope, int64_t n,
                                              const REAL *restrict state, const REAL *restrict slopes,
                                              const REAL *restrict g, REAL *restrict dz, REAL *restrict to_step) {
    const REAL least = grid.low * grid.step, largest = grid.high * grid.step;
    FOR_ACTIVATION(activation, _Pragma("GCC ivdep") for (int64_t j = 0; j < n; j++) {
        const REAL d = FN(derivative_of_state)(ACTIVATION, slope, state[j]);
        dz[j] = (state[j] > least) & (state[j] < largest) ? d * g[j] : 0;
        to_step[j] += g[j] * slopes[j];
    });
}

/* The sum of the parts' rows of n numbers. */
TARGET static void FN(sum_of_rows)(int64_t n, int parts, const REAL *rows, int64_t distance, REAL *total) {
    double sum = 0;
    for (int p = 0; p < parts; p++)
        for (int64_t j = 0; j < n; j++) sum += (double)rows[p * distance + j];
    *total = (REAL)sum;
}
