"""Inner loops in C, in which a network spends its time: two rows of packed codes times a vector.

Note [Two rows, full groups]
    A loop processes two rows at once, so that an entry of the vector is loaded once for both. It reads codes in groups
    that fill full bytes (`packing.group`), so that the position of every code in its word is known when the C is
    generated. The vector is prepared by `lanes`: int16, padded with zeros to a full group; codes that are read beyond
    the end of a row are multiplied by these zeros.

Note [SMLAD]
    SMLAD adds two products of 16-bit halves to a sum. With w a word of codes of k = 2, 4 or 8 bits and m the mask of
    the lowest k bits of both halves, (w >> t k) & m has codes number t and t + 16 / k of the word in its halves, so
    the vector is stored in that order (`place`). Codes are made unsigned by inverting their highest bit, which adds
    2^(k - 1) to each, and 2^(k - 1) times the sum of the vector is subtracted at the end. All of this is modulo 2^32,
    and the sum itself is proved to fit (docs/integers.md, "Sums, and why none overflows").
"""

from __future__ import annotations

from dataclasses import dataclass

from eigenloop.deploy.c.text import signed
from eigenloop.deploy.packing import group

#: The widths for which SMLAD is used, or byte loads on processors without unaligned word access.
NARROW = (2, 4, 8)

SWITCH = """/* SMLAD, where the compiler says that there is one, multiplies two pairs of 16-bit numbers at once. */
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#define SMLAD 1
#define SUM 2 /* behind a vector stands the sum of its numbers, as two of them */
#else
#define SMLAD 0
#define SUM 0
#endif
"""

_ADD_UP = """/* Writes the sum of n numbers behind them, its lower half first. */
static void add_up(int16_t *q, uint32_t n)
{
#if SMLAD
    int32_t sum = 0;
    uint32_t i;
    for (i = 0; i < n; i++)
        sum += q[i];
    q[n] = (int16_t)(sum & 0xFFFF);
    q[n + 1u] = (int16_t)(sum >> 16);
#else
    (void)q;
    (void)n;
#endif
}
"""

_TWO = """#if SMLAD
/* Two numbers as a word, the first in its lower half. */
INSIDE uint32_t pair_at(const int16_t *q)
{
    return (uint32_t)(uint16_t)q[0] | (uint32_t)(uint16_t)q[1] << 16;
}

/* Adds the products of two codes with two numbers to a sum, modulo 2^32. */
INSIDE int32_t two(uint32_t codes, const int16_t *q, int32_t sum)
{
    return __smlad((int32_t)codes, (int32_t)pair_at(q), sum);
}
#endif
"""

_APART = """/* Loops are functions of their own, in which they have all registers; what they load words with is not. */
#if defined(__GNUC__)
#define APART static __attribute__((noinline))
#define INSIDE static inline __attribute__((always_inline))
#else
#define APART static
#define INSIDE static inline
#endif
"""

_WORD_AT = """/* Four bytes of a row as a word, the first lowest; one load where the processor allows it. */
INSIDE uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
"""


@dataclass(frozen=True, order=True)
class Lanes:
    """A copy of a vector for the loops: `order` is the width of codes for SMLAD, or 0 for the original order."""

    order: int
    bits: int

    @property
    def name(self) -> str:
        """The name of the C function, such as ``lanes_4_16``."""
        return f"lanes_{self.order}_{self.bits}"

    def definition(self) -> str:
        """Return the C function that fills the copy."""
        place = f"place_{self.order}(i)" if self.order else "i"
        end = "    add_up(q, all);\n" if self.order else ""
        return f"""/* Copies n numbers, with zeros up to a whole group{", for SMLAD" if self.order else ""}. */
static void {self.name}(const {signed(self.bits)} *from, uint32_t n, int16_t *q, uint32_t all)
{{
    uint32_t i;
    memset(q, 0, all * sizeof *q);
    for (i = 0; i < n; i++)
        q[{place}] = from[i];
{end}}}
"""


def _place(k: int) -> str:
    fields, size = 16 // k, 32 // k
    return f"""/* Where number i of a vector stands: SMLAD takes those of codes t and t + {fields} of a word at once. */
static inline uint32_t place_{k}(uint32_t i)
{{
#if SMLAD
    return (i & ~{size - 1}u) | (i & {fields - 1}u) << 1 | (i & {fields}u) >> {fields.bit_length() - 1};
#else
    return i;
#endif
}}
"""


@dataclass(frozen=True, order=True)
class Kernel:
    """A loop: the widths of a code and of the sum, and whether the vector is in the order for SMLAD."""

    bits: int
    total: int
    ordered: bool

    @property
    def name(self) -> str:
        """The name of the C function, such as ``rows_4_32``."""
        return f"rows_{self.bits}_{self.total}" + ("" if self.ordered or self.bits not in NARROW else "_plain")

    def definition(self) -> str:
        """Return the C function; see Note [Two rows, full groups]."""
        kind, size = signed(self.total), group(self.bits)
        body = _words(self)
        if self.bits in NARROW:
            begin = f"#if SMLAD\n{_smlad(self)}#elif" if self.ordered else "#if"
            bytewise = f" defined(__arm__) && !defined(__ARM_FEATURE_UNALIGNED)\n{_bytes(self)}"
            body = f"{begin}{bytewise}#else\n{body}#endif\n"
        return f"""/* Adds the products of n numbers q with the codes of {self.bits} bits of two rows to their sums.
   n is a multiple of {size}; the second row lies `next` bytes behind the first. */
APART void {self.name}(const uint8_t *p, uint32_t next, const int16_t *q, uint32_t n, {kind} *sums)
{{
    const uint8_t *r = p + next;
    const int16_t *end = q + n;
{body}}}
"""


def _code(k: int, word: str, at: int) -> str:
    """Return the C expression of the code at a bit of a word, sign-extended."""
    if at + k == 32:
        return f"((int32_t){word} >> {32 - k})"
    return f"((int32_t)({word} << {32 - k - at}) >> {32 - k})"


def _loop(kernel: Kernel, numbers: int, stride: int, lines: list[str]) -> str:
    kind = signed(kernel.total)
    body = "".join(f"        {line}\n" for line in lines)
    return f"""    {kind} a = sums[0], b = sums[1];
    for (; q != end; q += {numbers}, p += {stride}, r += {stride}) {{
        uint32_t u, v;
{body}    }}
    sums[0] = a;
    sums[1] = b;
"""


def _words(kernel: Kernel) -> str:
    """Return the loop that reads a group by words; each is loaded where the next code begins and used up."""
    k, size = kernel.bits, group(kernel.bits)
    last, at, lines = size * k // 8 - 4, -1, []
    for j in range(size):
        if at < 0 or j * k + k > 8 * at + 32:
            at = min(j * k // 8, last)
            lines.append(f"u = word_at(p + {at});" if at else "u = word_at(p);")
            lines.append(f"v = word_at(r + {at});" if at else "v = word_at(r);")
        bit = j * k - 8 * at
        lines.append(f"a += {_code(k, 'u', bit)} * q[{j}];")
        lines.append(f"b += {_code(k, 'v', bit)} * q[{j}];")
    return _loop(kernel, size, size * k // 8, lines)


def _bytes(kernel: Kernel) -> str:
    """Return the loop that reads byte by byte, for processors on which a word takes four loads."""
    k, lines = kernel.bits, []
    for byte in range(2):
        lines += [f"u = p[{byte}];", f"v = r[{byte}];"]
        for j in range(8 // k):
            number = 8 // k * byte + j
            lines.append(f"a += {_code(k, 'u', j * k)} * q[{number}];")
            lines.append(f"b += {_code(k, 'v', j * k)} * q[{number}];")
    return _loop(kernel, 16 // k, 2, lines)


def _smlad(kernel: Kernel) -> str:
    """Return the loop that masks pairs of codes; see Note [SMLAD]."""
    k, size = kernel.bits, group(kernel.bits)
    turned = f"0x{sum(1 << (k * j + k - 1) for j in range(32 // k)):08X}u"
    mask = f"0x{((1 << k) - 1) * 0x10001:08X}u"
    lines = []
    for word in range(size * k // 32):
        offset = f" + {4 * word}" if word else ""
        lines.append(f"u = word_at(p{offset}) ^ {turned};")
        lines.append(f"v = word_at(r{offset}) ^ {turned};")
        for t in range(16 // k):
            shift = f" >> {t * k}" if t else ""
            place = 32 // k * word + 2 * t
            vector = f"q + {place}" if place else "q"
            lines.append(f"a = two((u{shift}) & mask, {vector}, a);" if t else f"a = two(u & mask, {vector}, a);")
            lines.append(f"b = two((v{shift}) & mask, {vector}, b);" if t else f"b = two(v & mask, {vector}, b);")
    body = "".join(f"        {line}\n" for line in lines)
    return f"""    volatile uint32_t constant = {mask}; /* so that it stays in a register: AND then shifts as well */
    uint32_t mask = constant, sum;
    int32_t a = 0, b = 0;
    for (; q != end; q += {size}, p += {size * k // 8}, r += {size * k // 8}) {{
        uint32_t u, v;
{body}    }}
    sum = pair_at(end);
    sums[0] = (int32_t)((uint32_t)sums[0] + (uint32_t)a - {1 << (k - 1)}u * sum);
    sums[1] = (int32_t)((uint32_t)sums[1] + (uint32_t)b - {1 << (k - 1)}u * sum);
"""


def mean_row(k: int) -> str:
    """Return the loop for the read-out of a mean: sums of states have 32 bits and are read once per sequence."""
    return f"""/* Adds the products of n sums of states with the codes of {k} bits of a row to a sum. */
static int64_t row_of_mean(const uint8_t *p, const int32_t *q, uint32_t n, int64_t sum)
{{
    uint32_t buffer = 0, have = 0;
    for (; n > 0u; n--) {{
        for (; have < {k}u; have += 8u)
            buffer |= (uint32_t)*p++ << have;
        sum += (int64_t){_code(k, "buffer", 0)} * *q++;
        buffer >>= {k};
        have -= {k}u;
    }}
    return sum;
}}
"""


def definitions(kernels: set[Kernel], lanes: set[Lanes], mean: int | None) -> str:
    """Return the loops with their helpers; `mean` is the width of the codes that read out a mean, or None."""
    orders = sorted({one.order for one in lanes if one.order})
    parts = [_APART, _WORD_AT] if kernels else []
    parts += [*([_ADD_UP, _TWO] if orders else []), *map(_place, orders), *(one.definition() for one in sorted(lanes))]
    parts += [kernel.definition() for kernel in sorted(kernels)]
    return "\n".join([*parts, *([] if mean is None else [mean_row(mean)])])
