/* What both recurrences share: how batch and time are cut, and where a step's neighbours lie.
 *
 * Every part of a call owns a slice of the batch for the whole sequence, so that threads never wait for each other
 * between steps; it walks through time in blocks of about BLOCK_ROWS rows (steps x sequences). The input is multiplied
 * with U, and the gradients of the weights are collected, once a block, while its rows are still in cache.
 */
#ifndef EIGENLOOP_SCHEDULE_H
#define EIGENLOOP_SCHEDULE_H

#include <stdint.h>

#define BLOCK_ROWS 192
#define FEW_ROWS 6           /* steps x sequences below which W is not packed */
#define SERIAL_WORK 400000.0 /* multiplications below which a second thread costs more than it brings */

static inline int64_t el_smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* In how many parts to cut the batch. It depends on sizes and thread count alone: so do the roundings. */
static inline int el_parts(int64_t T, int64_t B, int64_t multiplications_a_row, int64_t threads) {
    if (threads < 1 || (double)T * (double)B * (double)multiplications_a_row < SERIAL_WORK) return 1;
    const int64_t parts = el_smaller(threads, B);
    return parts < 1 ? 1 : (int)parts;
}

/* First sequence of a part; part = parts gives B. */
static inline int64_t el_slice(int64_t B, int parts, int part) { return B / parts * part + el_smaller(part, B % parts); }

/* Sequences in the largest slice, and steps in a block of such a slice. */
static inline int64_t el_most_rows(int64_t B, int parts) { return (B + parts - 1) / parts; }
static inline int64_t el_block_steps(int64_t T, int64_t rows) {
    const int64_t steps = rows > 0 ? BLOCK_ROWS / rows : 1;
    return el_smaller(T, steps < 1 ? 1 : steps);
}

/* Time index of the i-th step visited. */
static inline int64_t el_time(int64_t T, int64_t i, int64_t reverse) { return reverse ? T - 1 - i : i; }

static inline int el_valid(const int64_t *lengths, int64_t t, int64_t b) { return !lengths || t < lengths[b]; }

/* Whether the step (t, b) starts from h0: the first visited, which in reverse is the last valid one. */
static inline int el_first(int64_t T, const int64_t *lengths, int64_t t, int64_t b, int64_t reverse) {
    return reverse ? t == (lengths ? el_smaller(lengths[b], T) : T) - 1 : t == 0;
}

#endif
