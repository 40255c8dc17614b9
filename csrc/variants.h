/* The recurrences of one instruction set, in both precisions: VARIANT, VECTOR_BYTES, ROWS, COLS and TARGET are set. */

#define JOIN_(name, variant, precision) name##_##variant##_##precision
#define JOIN(name, variant, precision) JOIN_(name, variant, precision)

#define REAL float
#define WIDE 0
#define FN(name) JOIN(name, VARIANT, single)
#include "recurrences.h"
#undef REAL
#undef WIDE
#undef FN

#define REAL double
#define WIDE 1
#define FN(name) JOIN(name, VARIANT, double)
#include "recurrences.h"
#undef REAL
#undef WIDE
#undef FN

#undef JOIN
#undef JOIN_
#undef VARIANT
#undef VECTOR_BYTES
#undef ROWS
#undef COLS
#undef TARGET
