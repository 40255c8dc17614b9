/* Small dense products, written once and compiled for every instruction set and both precisions.
 *
 * A product C (M x N) = A (M x K) B is cut into tiles of at most ROWS rows and COLS vectors of columns, whose sums stay
 * in registers while k runs. B is packed beforehand: K is cut into slabs of DEPTH, each slab into panels of COLS
 * vectors (fewer in the last), and a panel holds its columns k after k, so that the inner loop reads memory in order.
 *
 *     packed = slab 0: [panel 0: k = 0 .. DEPTH-1][panel 1: ...] ..., slab 1: ...
 *
 * Columns are padded with zeros to whole vectors. C and `start` must therefore have room for `padded(N)` columns; A is
 * read up to K only, so that infinities in one row never meet the padding's zeros.
 *
 * Set by variants.h: REAL, VECTOR_BYTES, ROWS, COLS, TARGET, FN(name).
 */

#define LANES ((int64_t)(VECTOR_BYTES / sizeof(REAL)))
#define DEPTH 512

typedef REAL FN(vector) __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef REAL FN(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

/* N rounded up to whole vectors. */
TARGET static inline int64_t FN(padded)(int64_t N) { return (N + LANES - 1) / LANES * LANES; }

/* Distance between rows of N numbers in our own arrays: whole vectors, and an odd count of cache lines, because lines a
 * power of two apart fall into the same few places of the cache. */
TARGET static inline int64_t FN(stride)(int64_t N) {
    const int64_t line = 64 / (int64_t)sizeof(REAL), lines = (N + line - 1) / line;
    return (lines | 1) * line;
}

/* C = start + A B for one tile; a null start is zero. A's element (i, k) is a[i * row + k * step]. */
TARGET static inline __attribute__((always_inline)) void FN(tile)(int rows, int cols, int64_t depth, const REAL *a,
                                                                  int64_t row, int64_t step, const REAL *b, REAL *c,
                                                                  int64_t ldc, const REAL *start, int64_t ldstart) {
    FN(vector) sum[ROWS][COLS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            sum[i][j] = start ? (FN(vector)) * (const FN(loose) *)(start + i * ldstart + j * LANES) : (FN(vector)){0};
    for (int64_t k = 0; k < depth; k++) {
        FN(vector) column[COLS];
        for (int j = 0; j < cols; j++) column[j] = *(const FN(vector) *)(b + (k * cols + j) * LANES);
        for (int i = 0; i < rows; i++) {
            const REAL factor = a[i * row + k * step];
            for (int j = 0; j < cols; j++) sum[i][j] += factor * column[j];
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) *(FN(loose) *)(c + i * ldc + j * LANES) = sum[i][j];
}

/* The tile with its sizes known to the compiler: sums can live in registers only then. */
#define TILE_CASE(r, v)                                                            \
    case (r) * 4 + (v):                                                            \
        FN(tile)(r, v, depth, a, ACROSS, ALONG, b, c, ldc, start, ldstart);        \
        return;
#if COLS == 3
#define TILE_ROW(r) TILE_CASE(r, 1) TILE_CASE(r, 2) TILE_CASE(r, 3)
#else
#define TILE_ROW(r) TILE_CASE(r, 1) TILE_CASE(r, 2)
#endif
#if ROWS == 8
#define TILE_ROWS TILE_ROW(1) TILE_ROW(2) TILE_ROW(3) TILE_ROW(4) TILE_ROW(5) TILE_ROW(6) TILE_ROW(7) TILE_ROW(8)
#elif ROWS == 6
#define TILE_ROWS TILE_ROW(1) TILE_ROW(2) TILE_ROW(3) TILE_ROW(4) TILE_ROW(5) TILE_ROW(6)
#else
#define TILE_ROWS TILE_ROW(1) TILE_ROW(2) TILE_ROW(3) TILE_ROW(4)
#endif

#define ACROSS lda
#define ALONG 1
TARGET static void FN(tile_of_rows)(int rows, int cols, int64_t depth, const REAL *a, int64_t lda, const REAL *b,
                                    REAL *c, int64_t ldc, const REAL *start, int64_t ldstart) {
    switch (rows * 4 + cols) { TILE_ROWS }
}
#undef ACROSS
#undef ALONG
#define ACROSS 1
#define ALONG lda
TARGET static void FN(tile_of_columns)(int rows, int cols, int64_t depth, const REAL *a, int64_t lda, const REAL *b,
                                       REAL *c, int64_t ldc, const REAL *start, int64_t ldstart) {
    switch (rows * 4 + cols) { TILE_ROWS }
}
#undef ACROSS
#undef ALONG
#undef TILE_CASE
#undef TILE_ROW
#undef TILE_ROWS

/* Rows of the t-th of so many row tiles, which are of equal height, give or take one. */
static inline int FN(tile_rows)(int64_t M, int64_t tiles, int64_t t) { return (int)(M / tiles + (t < M % tiles)); }

/* C (M x N) = start + A B, A's rows in memory order: slab by slab, panel by panel, tile by tile. A panel stays in the
 * first cache while the few rows of a step pass by. */
TARGET static void FN(multiply)(int64_t M, int64_t N, int64_t K, const REAL *a, int64_t lda, const REAL *packed, REAL *c,
                                int64_t ldc, const REAL *start, int64_t ldstart) {
    const int64_t vectors = FN(padded)(N) / LANES, tiles = (M + ROWS - 1) / ROWS;
    for (int64_t k = 0; k < K; k += DEPTH) {
        const int64_t depth = K - k < DEPTH ? K - k : DEPTH;
        for (int64_t v = 0; v < vectors; v += COLS) {
            const int cols = (int)(vectors - v < COLS ? vectors - v : COLS);
            const REAL *panel = packed + k * vectors * LANES + v * LANES * depth;
            int64_t i = 0;
            for (int64_t t = 0; t < tiles; t++) {
                const int rows = FN(tile_rows)(M, tiles, t);
                REAL *c_tile = c + i * ldc + v * LANES;
                const REAL *from = k > 0 ? c_tile : start ? start + i * ldstart + v * LANES : NULL;
                FN(tile_of_rows)(rows, cols, depth, a + i * lda + k, lda, panel, c_tile, ldc, from, k > 0 ? ldc : ldstart);
                i += rows;
            }
        }
    }
}

/* C (M x N) += A^T B, A (K x M): the gradient of a weight from a block of rows. A is read across, a row's width apart, and
 * is the largest of the three; so a tile's columns of it are taken up once, and the panels pass by. */
TARGET static void FN(multiply_transposed)(int64_t M, int64_t N, int64_t K, const REAL *a, int64_t lda,
                                           const REAL *packed, REAL *c, int64_t ldc) {
    const int64_t vectors = FN(padded)(N) / LANES, tiles = (M + ROWS - 1) / ROWS;
    for (int64_t k = 0; k < K; k += DEPTH) {
        const int64_t depth = K - k < DEPTH ? K - k : DEPTH;
        int64_t i = 0;
        for (int64_t t = 0; t < tiles; t++) {
            const int rows = FN(tile_rows)(M, tiles, t);
            for (int64_t v = 0; v < vectors; v += COLS) {
                const int cols = (int)(vectors - v < COLS ? vectors - v : COLS);
                const REAL *panel = packed + k * vectors * LANES + v * LANES * depth;
                REAL *c_tile = c + i * ldc + v * LANES;
                FN(tile_of_columns)(rows, cols, depth, a + k * lda + i, lda, panel, c_tile, ldc, c_tile, ldc);
            }
            i += rows;
        }
    }
}

/* Pack B given by its rows: B's row k is rows[k][0 .. N-1]. */
TARGET static void FN(pack_rows)(int64_t K, int64_t N, const REAL *const *rows, REAL *packed) {
    const int64_t vectors = FN(padded)(N) / LANES;
    for (int64_t k0 = 0; k0 < K; k0 += DEPTH) {
        const int64_t depth = K - k0 < DEPTH ? K - k0 : DEPTH;
        for (int64_t v = 0; v < vectors; v += COLS) {
            const int64_t width = (vectors - v < COLS ? vectors - v : COLS) * LANES;
            const int64_t filled = N - v * LANES < width ? N - v * LANES : width;
            for (int64_t k = k0; k < k0 + depth; k++, packed += width) {
                memcpy(packed, rows[k] + v * LANES, (size_t)filled * sizeof(REAL));
                for (int64_t j = filled; j < width; j++) packed[j] = 0;
            }
        }
    }
}

/* Pack a row-major W (K x N). */
TARGET static void FN(pack_plain)(int64_t K, int64_t N, const REAL *W, REAL *packed) {
    const int64_t vectors = FN(padded)(N) / LANES;
    for (int64_t k0 = 0; k0 < K; k0 += DEPTH) {
        const REAL *rows[DEPTH];
        const int64_t depth = K - k0 < DEPTH ? K - k0 : DEPTH;
        for (int64_t k = 0; k < depth; k++) rows[k] = W + (k0 + k) * N;
        FN(pack_rows)(depth, N, rows, packed + k0 * vectors * LANES);
    }
}

/* Pack B = W^T of a row-major W (N x K): column j of B is row j of W. */
TARGET static void FN(pack_transposed)(int64_t K, int64_t N, const REAL *W, REAL *packed) {
    const int64_t vectors = FN(padded)(N) / LANES;
    for (int64_t k0 = 0; k0 < K; k0 += DEPTH) {
        const int64_t depth = K - k0 < DEPTH ? K - k0 : DEPTH;
        for (int64_t v = 0; v < vectors; v += COLS) {
            const int64_t width = (vectors - v < COLS ? vectors - v : COLS) * LANES;
            for (int64_t j = 0; j < width; j++) {
                const int64_t row = v * LANES + j;
                for (int64_t k = 0; k < depth; k++) packed[k * width + j] = row < N ? W[row * K + k0 + k] : 0;
            }
            packed += depth * width;
        }
    }
}

/* C (M x N) = start + A W^T with W (N x K) as it lies in memory: for so few rows that packing would cost more. */
TARGET static void FN(multiply_few)(int64_t M, int64_t N, int64_t K, const REAL *a, int64_t lda, const REAL *W, REAL *c,
                                    int64_t ldc, const REAL *start, int64_t ldstart) {
    const int64_t whole = K / LANES * LANES;
    for (int64_t i = 0; i < M; i++) {
        const REAL *h = a + i * lda;
        for (int64_t j = 0; j < N; j += 4) {
            /* Four rows of W at once, so that four sums are under way; near the end a row is taken twice. */
            const REAL *w[4];
            FN(vector) sum[4] = {{0}, {0}, {0}, {0}};
            for (int r = 0; r < 4; r++) w[r] = W + (j + r < N ? j + r : N - 1) * K;
            for (int64_t k = 0; k < whole; k += LANES) {
                const FN(vector) state = *(const FN(loose) *)(h + k);
                for (int r = 0; r < 4; r++) sum[r] += state * (FN(vector)) * (const FN(loose) *)(w[r] + k);
            }
            for (int r = 0; r < 4 && j + r < N; r++) {
                REAL total = 0;
                for (int64_t l = 0; l < LANES; l++) total += sum[r][l];
                for (int64_t k = whole; k < K; k++) total += h[k] * w[r][k];
                c[i * ldc + j + r] = total + (start ? start[i * ldstart + j + r] : 0);
            }
        }
    }
}
