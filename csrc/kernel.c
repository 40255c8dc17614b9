/* The exported calls: choose an instruction set and a precision, and go there. */
#include "kernel.h"

#include <stddef.h>
#include <string.h>

#include "pool.h"
#include "schedule.h"
#include "workspace.h"

#define EL_MOST_PARTS 64

#define VARIANT portable
#ifdef EIGENLOOP_WIDE_PORTABLE /* tests: the geometry of AVX-512 on a machine without it */
#define VECTOR_BYTES 64
#define ROWS 8
#define COLS 3
#else
#define VECTOR_BYTES 16
#define ROWS 4
#define COLS 2
#endif
#define TARGET
#include "variants.h"

#if defined(__x86_64__) && !defined(EIGENLOOP_PORTABLE_ONLY)
#define EL_X86 1

#define VARIANT avx2
#define VECTOR_BYTES 32
#define ROWS 6
#define COLS 2
#define TARGET __attribute__((target("avx2,fma")))
#include "variants.h"

#define VARIANT avx512
#define VECTOR_BYTES 64
#define ROWS 8
#define COLS 3
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#include "variants.h"
#endif

int el_best_variant(void) {
#ifdef EL_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return EL_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return EL_AVX2;
#endif
    return EL_PORTABLE;
}

#ifdef EL_X86
#define CHOOSE(name)                                                                        \
    if (variant == EL_AVX512) return wide ? name##_avx512_double(call) : name##_avx512_single(call); \
    if (variant == EL_AVX2) return wide ? name##_avx2_double(call) : name##_avx2_single(call);       \
    return wide ? name##_portable_double(call) : name##_portable_single(call)
#else
#define CHOOSE(name)  \
    (void)variant;    \
    return wide ? name##_portable_double(call) : name##_portable_single(call)
#endif

int el_simple_forward(const el_simple *call, int variant, int wide) { CHOOSE(simple_forward); }
int el_simple_backward(const el_simple *call, int variant, int wide) { CHOOSE(simple_backward); }
int el_gated_forward(const el_gated *call, int variant, int wide) { CHOOSE(gated_forward); }
int el_gated_backward(const el_gated *call, int variant, int wide) { CHOOSE(gated_backward); }
int el_lstm_forward(const el_lstm *call, int variant, int wide) { CHOOSE(lstm_forward); }
int el_lstm_backward(const el_lstm *call, int variant, int wide) { CHOOSE(lstm_backward); }

int64_t el_simple_size(void) { return (int64_t)sizeof(el_simple); }
int64_t el_gated_size(void) { return (int64_t)sizeof(el_gated); }
int64_t el_lstm_size(void) { return (int64_t)sizeof(el_lstm); }
