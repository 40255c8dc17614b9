/* SMLAD for computers that have none: what Arm's C Language Extensions say that it does, modulo 2^32. */
#include <stdint.h>

static inline int32_t __smlad(int32_t a, int32_t b, int32_t sum)
{
    int64_t low = (int64_t)(int16_t)(a & 0xFFFF) * (int16_t)(b & 0xFFFF);
    int64_t high = (int64_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
    return (int32_t)(uint32_t)(uint64_t)(low + high + sum);
}
