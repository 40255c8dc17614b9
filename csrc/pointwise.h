/* The functions that act on one number, as loops that the compiler turns into vectors.
 *
 * NaN and infinity come out as from torch: comparisons are written so that a NaN passes through.
 */

#if WIDE
typedef uint64_t FN(bits);
#define EXPONENT_SHIFT 52
#define EXPONENT_BIAS 1023
#define ROUNDING 6755399441055744.0 /* 1.5 * 2^52: adding it leaves the nearest integer in the low bits */
#define EXP_LOW -708.0
#define EXP_HIGH 710.0
#else
typedef uint32_t FN(bits);
#define EXPONENT_SHIFT 23
#define EXPONENT_BIAS 127
#define ROUNDING 12582912.0f /* 1.5 * 2^23 */
#define EXP_LOW -87.0f
#define EXP_HIGH 89.0f
#endif

/* e^x by x = k log 2 + r and the polynomials of Cephes (Moshier 1989). Below EXP_LOW it stays at the least normal result,
 * at EXP_HIGH 2^k is infinite, so that sigmoid and tanh reach their limits exactly. */
TARGET static inline REAL FN(exponential)(REAL x) {
    x = x > EXP_HIGH ? EXP_HIGH : x;
    x = x < EXP_LOW ? EXP_LOW : x;
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

/* |re + i im|, in double precision, where the squares of floats neither overflow nor vanish. */
TARGET static inline REAL FN(modulus)(REAL re, REAL im) {
    return (REAL)__builtin_sqrt((double)re * (double)re + (double)im * (double)im);
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

/* f(z), and f'(z) read off value = f(z). Called with a constant `activation`, so that the switch costs nothing. */
TARGET static inline __attribute__((always_inline)) REAL FN(apply)(int activation, REAL slope, REAL z, REAL threshold) {
    switch (activation) {
    case EL_RELU: return z <= 0 ? 0 : z;
    case EL_LEAKY_RELU: return z > 0 ? z : slope * z;
    case EL_TANH: return FN(tangent)(z);
    case EL_MODRELU: return FN(modrelu)(z, threshold);
    default: return z;
    }
}

TARGET static inline __attribute__((always_inline)) REAL FN(derivative)(int activation, REAL slope, REAL value) {
    switch (activation) {
    case EL_RELU: return value > 0 ? (REAL)1 : 0;
    case EL_LEAKY_RELU: return value > 0 ? (REAL)1 : slope;
    case EL_TANH: return 1 - value * value;
    case EL_MODRELU: return value != 0 ? (REAL)1 : 0;
    default: return 1;
    }
}

/* Run a loop body with ACTIVATION constant in each branch. */
#define FOR_ACTIVATION(activation, body)                   \
    switch (activation) {                                  \
    case EL_RELU: {                                        \
        enum { ACTIVATION = EL_RELU };                     \
        body;                                              \
    } break;                                               \
    case EL_LEAKY_RELU: {                                  \
        enum { ACTIVATION = EL_LEAKY_RELU };               \
        body;                                              \
    } break;                                               \
    case EL_TANH: {                                        \
        enum { ACTIVATION = EL_TANH };                     \
        body;                                              \
    } break;                                               \
    case EL_MODRELU: {                                     \
        enum { ACTIVATION = EL_MODRELU };                  \
        body;                                              \
    } break;                                               \
    default: {                                             \
        enum { ACTIVATION = EL_IDENTITY };                 \
        body;                                              \
    }                                                      \
    }

/* Run a body for j = 0 .. n-1 in whole vectors. The last one overlaps the one before it where n is no multiple of LANES: a
 * body must therefore read nothing that it writes. The numbers left over would otherwise cost as much each as a vector. */
#define IN_VECTORS(n, body)                                                     \
    do {                                                                        \
        if ((n) < LANES)                                                        \
            for (int64_t j = 0; j < (n); j++) body;                             \
        for (int64_t at = 0; (n) >= LANES && at < (n); at += LANES) {           \
            const int64_t first = at + LANES <= (n) ? at : (n) - LANES;         \
            _Pragma("GCC ivdep")                                                \
            for (int64_t j = first; j < first + LANES; j++) body;               \
        }                                                                       \
    } while (0)

TARGET static void FN(sigmoid_row)(int64_t n, const REAL *restrict z, REAL *restrict value) {
    IN_VECTORS(n, value[j] = FN(sigmoid)(z[j]));
}

TARGET static void FN(tangent_row)(int64_t n, const REAL *restrict z, REAL *restrict value) {
    IN_VECTORS(n, value[j] = FN(tangent)(z[j]));
}

/* modReLU of pairs: the length |z| becomes ReLU(|z| + b), the phase stays (Arjovsky et al. 2016, eq. 8). */
TARGET static void FN(complex_modrelu_row)(int64_t pairs, const REAL *restrict z, const REAL *restrict b,
                                           REAL *restrict value) {
    for (int64_t j = 0; j < pairs; j++) {
        const REAL re = z[2 * j], im = z[2 * j + 1], modulus = FN(modulus)(re, im), length = modulus + b[j];
        const REAL scale = length <= 0 ? 0 : modulus > 0 ? length / modulus : modulus;
        value[2 * j] = scale * re;
        value[2 * j + 1] = scale * im;
    }
}

TARGET static void FN(modulus_row)(int64_t pairs, const REAL *restrict z, REAL *restrict moduli) {
    for (int64_t j = 0; j < pairs; j++) moduli[j] = FN(modulus)(z[2 * j], z[2 * j + 1]);
}

/* dz from the gradient g of the value, and what it adds to that of b. With L = |value| = |z| + b the slope is 1 along
 * the phase and L / |z| across it; L - b would round a small |z| away. */
TARGET static void FN(complex_unmodrelu_row)(int64_t pairs, const REAL *restrict value, const REAL *restrict moduli,
                                             const REAL *restrict g, REAL *restrict dz, REAL *restrict grad_b) {
    for (int64_t j = 0; j < pairs; j++) {
        const REAL re = value[2 * j], im = value[2 * j + 1], length = FN(modulus)(re, im);
        const REAL inverse = length > 0 ? 1 / length : 0, c = re * inverse, s = im * inverse;
        const REAL radial = g[2 * j] * c + g[2 * j + 1] * s, turned = g[2 * j + 1] * c - g[2 * j] * s;
        const REAL across = length > 0 ? turned * (length / moduli[j]) : 0;
        dz[2 * j] = radial * c - across * s;
        dz[2 * j + 1] = radial * s + across * c;
        grad_b[j] += radial;
    }
}

/* value = f(z) along a row. A threshold stands beside modReLU only; others read z in its place and ignore it. */
TARGET static void FN(activate)(int64_t activation, REAL slope, int64_t n, const REAL *restrict z,
                                const REAL *threshold, REAL *restrict value) {
    if (activation == EL_COMPLEX_MODRELU) {
        FN(complex_modrelu_row)(n / 2, z, threshold, value);
        return;
    }
    const REAL *b = activation == EL_MODRELU ? threshold : z;
    FOR_ACTIVATION(activation, IN_VECTORS(n, value[j] = FN(apply)(ACTIVATION, slope, z[j], b[j])));
}

/* dz = f'(z) g along a row. */
TARGET static void FN(deactivate)(int64_t activation, REAL slope, int64_t n, const REAL *restrict value,
                                  const REAL *restrict g, REAL *restrict dz) {
    FOR_ACTIVATION(activation,
                   for (int64_t j = 0; j < n; j++) dz[j] = FN(derivative)(ACTIVATION, slope, value[j]) * g[j]);
}

TARGET static void FN(add_row)(int64_t n, REAL *restrict to, const REAL *restrict row) {
    for (int64_t j = 0; j < n; j++) to[j] += row[j];
}

/* modReLU's b moves the length, so its gradient is that of z times the sign. */
TARGET static void FN(add_signed_row)(int64_t n, REAL *restrict to, const REAL *restrict value,
                                      const REAL *restrict dz) {
    for (int64_t j = 0; j < n; j++) to[j] += FN(sign)(value[j]) * dz[j];
}

/* Add the sum of `rows` rows to one row. */
TARGET static void FN(add_rows)(int64_t rows, int64_t n, int64_t ld, REAL *restrict to, const REAL *restrict from) {
    for (int64_t j = 0; j < FN(padded)(n); j += LANES) {
        FN(vector) sum = {0};
        for (int64_t r = 0; r < rows; r++) sum += *(const FN(loose) *)(from + r * ld + j);
        *(FN(loose) *)(to + j) += sum;
    }
}
