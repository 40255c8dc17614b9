/* The functions that act on one number, as loops that the compiler turns into vectors.
 *
 * NaN and infinity come out as from torch: comparisons are written so that a NaN passes through.
 */

#if WIDE
typedef uint64_t FN(bits);
#define EXPONENT_SHIFT 52
#define EXPONENT_BIAS 1023
#define ROUNDING 6755399441055744.0 /* 1.5 * 2^52: adding it leaves the nearest integer in the low bits */
#define EXP_LIMIT 708.0
#else
typedef uint32_t FN(bits);
#define EXPONENT_SHIFT 23
#define EXPONENT_BIAS 127
#define ROUNDING 12582912.0f /* 1.5 * 2^23 */
#define EXP_LIMIT 87.0f
#endif

/* e^x by x = k log 2 + r and the polynomials of Cephes (Moshier 1989), argument clamped to the range of normal results. */
TARGET static inline REAL FN(exponential)(REAL x) {
    x = x > EXP_LIMIT ? EXP_LIMIT : x;
    x = x < -EXP_LIMIT ? -EXP_LIMIT : x;
    const REAL shifted = x * (REAL)1.44269504088896340736 + ROUNDING;
    const REAL k = shifted - ROUNDING;
    FN(bits) pattern;
    memcpy(&pattern, &shifted, sizeof pattern);
    pattern = (pattern + EXPONENT_BIAS) << EXPONENT_SHIFT;
    REAL power;
    memcpy(&power, &pattern, sizeof power);
#if WIDE
    REAL r = x - k * 6.93145751953125E-1;
    r = r - k * 1.42860682030941723212E-6;
    const REAL s = r * r;
    const REAL p = r * ((1.26177193074810590878E-4 * s + 3.02994407707441961300E-2) * s + 9.99999999999999999910E-1);
    const REAL q = ((3.00198505138664455042E-6 * s + 2.52448340349684104192E-3) * s + 2.27265548208155028766E-1) * s + 2;
    return (1 + 2 * (p / (q - p))) * power;
#else
    REAL r = x - k * 0.693359375f;
    r = r - k * -2.12194440e-4f;
    REAL p = 1.9875691500E-4f;
    p = p * r + 1.3981999507E-3f;
    p = p * r + 8.3334519073E-3f;
    p = p * r + 4.1665795894E-2f;
    p = p * r + 1.6666665459E-1f;
    p = p * r + 5.0000001201E-1f;
    return (p * (r * r) + r + 1) * power;
#endif
}

TARGET static inline REAL FN(sigmoid)(REAL x) { return 1 / (1 + FN(exponential)(-x)); }

/* tanh x: Cephes' polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel. */
TARGET static inline REAL FN(tangent)(REAL x) {
    const REAL size = x < 0 ? -x : x, s = x * x;
    const REAL far = 1 - 2 / (FN(exponential)(2 * size) + 1);
#if WIDE
    const REAL p = (-9.64399179425052238628E-1 * s - 9.92877231001918586564E1) * s - 1.61468768441708447952E3;
    const REAL q = ((s + 1.12811678491632931402E2) * s + 2.23548839060100448583E3) * s + 4.84406305325125486048E3;
    const REAL near = x + x * s * (p / q);
#else
    REAL p = -5.70498872745E-3f;
    p = p * s + 2.06390887954E-2f;
    p = p * s - 5.37397155531E-2f;
    p = p * s + 1.33314422036E-1f;
    p = p * s - 3.33332819422E-1f;
    const REAL near = x + x * s * p;
#endif
    const REAL signed_far = x < 0 ? -far : far;
    return size < (REAL)0.625 ? near : signed_far;
}

TARGET static inline REAL FN(sign)(REAL x) { return (REAL)(x > 0) - (REAL)(x < 0); }

/* sign(z) ReLU(|z| + b) (Arjovsky et al. 2016, eq. 8; Helfrich et al. 2018). */
TARGET static inline REAL FN(modrelu)(REAL z, REAL b) {
    const REAL length = (z < 0 ? -z : z) + b;
    return FN(sign)(z) * (length <= 0 ? 0 : length);
}

/* z = f(z) along a row. */
TARGET static void FN(activate)(int64_t activation, REAL slope, int64_t n, REAL *restrict z,
                                const REAL *restrict threshold) {
    switch (activation) {
    case EL_RELU:
        for (int64_t j = 0; j < n; j++) z[j] = z[j] <= 0 ? 0 : z[j];
        break;
    case EL_LEAKY_RELU:
        for (int64_t j = 0; j < n; j++) z[j] = z[j] > 0 ? z[j] : slope * z[j];
        break;
    case EL_TANH:
        for (int64_t j = 0; j < n; j++) z[j] = FN(tangent)(z[j]);
        break;
    case EL_MODRELU:
        for (int64_t j = 0; j < n; j++) z[j] = FN(modrelu)(z[j], threshold[j]);
        break;
    default: break;
    }
}

/* dz = f'(z) g along a row, the derivative read off value = f(z). */
TARGET static void FN(deactivate)(int64_t activation, REAL slope, int64_t n, const REAL *restrict value,
                                  const REAL *restrict g, REAL *restrict dz) {
    switch (activation) {
    case EL_RELU:
        for (int64_t j = 0; j < n; j++) dz[j] = (value[j] > 0 ? (REAL)1 : 0) * g[j];
        break;
    case EL_LEAKY_RELU:
        for (int64_t j = 0; j < n; j++) dz[j] = (value[j] > 0 ? 1 : slope) * g[j];
        break;
    case EL_TANH:
        for (int64_t j = 0; j < n; j++) dz[j] = (1 - value[j] * value[j]) * g[j];
        break;
    case EL_MODRELU:
        for (int64_t j = 0; j < n; j++) dz[j] = (value[j] != 0 ? (REAL)1 : 0) * g[j];
        break;
    default: memcpy(dz, g, (size_t)n * sizeof(REAL));
    }
}

TARGET static void FN(add_row)(int64_t n, REAL *restrict to, const REAL *restrict row) {
    for (int64_t j = 0; j < n; j++) to[j] += row[j];
}

/* modReLU's b moves the length, so its gradient is that of z times the sign. */
TARGET static void FN(add_signed_row)(int64_t n, REAL *restrict to, const REAL *restrict value,
                                      const REAL *restrict dz) {
    for (int64_t j = 0; j < n; j++) to[j] += FN(sign)(value[j]) * dz[j];
}
