"""Rows of packed codes times a vector: a loop for k = 2, 4 and 8 that unpacks words, and one for every other k."""

from __future__ import annotations

from dataclasses import dataclass

from eigenloop.deploy.c.text import signed

#: The widths for which a word holds whole codes.
WORDS = (2, 4, 8)


@dataclass(frozen=True, order=True)
class Kernel:
    """A loop: `bits` of a code, of a number in the vector, and of the sum."""

    bits: int
    operand: int
    total: int

    @property
    def name(self) -> str:
        """As in ``row_4_16_32``."""
        return f"row_{self.bits}_{self.operand}_{self.total}"

    def definition(self) -> str:
        """Return the function."""
        return _words(self) if self.bits in WORDS else _stream(self)


def _head(kernel: Kernel) -> str:
    return (
        f"static {signed(kernel.total)} {kernel.name}(const uint8_t *codes, uint32_t bit, "
        f"const {signed(kernel.operand)} *q, uint32_t n, {signed(kernel.total)} sum)\n"
    )


def _product(kernel: Kernel, code: str, value: str) -> str:
    """Code times value: both fit into 16 bits and the product into 32, unless the vector has 32."""
    if kernel.operand == 32:
        return f"(int64_t){code} * {value}"
    return f"{code} * {value}"


def _words(kernel: Kernel) -> str:
    """Whole bytes at the ends, whole words between."""
    k, per = kernel.bits, 32 // kernel.bits
    one = _product(kernel, f"((int32_t)(word << {32 - k}) >> {32 - k})", "*q++")
    lines = []
    for j in range(per):
        code = f"((int32_t)(word << {32 - k - k * j}) >> {32 - k})" if j < per - 1 else f"((int32_t)word >> {32 - k})"
        lines.append(f"        sum += {_product(kernel, code, f'q[{j}]')};")
    body = "\n".join(lines)
    head = (
        ""
        if k == 8
        else f"""    if (bit & 7u) {{
        uint32_t word = (uint32_t)*p++ >> (bit & 7u), left;
        for (left = (8u - (bit & 7u)) / {k}u; left > 0u && n > 0u; left--, n--) {{
            sum += {one};
            word >>= {k};
        }}
    }}
"""
    )
    tail = (
        f"""    for (; n > 0u; n--) {{
        uint32_t word = *p++;
        sum += {one};
    }}
"""
        if k == 8
        else f"""    while (n > 0u) {{
        uint32_t word = *p++, left;
        for (left = {8 // k}u; left > 0u && n > 0u; left--, n--) {{
            sum += {one};
            word >>= {k};
        }}
    }}
"""
    )
    loop = f"""    for (; n >= {per}u; n -= {per}u) {{
        uint32_t word = word_at(p);
{body}
        p += 4;
        q += {per};
    }}
"""
    return f"""/* Adds the products of n codes of {k} bits, the first at a bit of the stream, with q to a sum. */
{_head(kernel)}{{
    const uint8_t *p = codes + (bit >> 3);
{head}{loop}{tail}    return sum;
}}
"""


def _stream(kernel: Kernel) -> str:
    """A buffer of at most k + 7 bits, filled by bytes."""
    k = kernel.bits
    return f"""/* Adds the products of n codes of {k} bits, the first at a bit of the stream, with q to a sum. */
{_head(kernel)}{{
    const uint8_t *p = codes + (bit >> 3);
    uint32_t buffer = (uint32_t)*p++ >> (bit & 7u), have = 8u - (bit & 7u);
    for (; n > 0u; n--) {{
        for (; have < {k}u; have += 8u)
            buffer |= (uint32_t)*p++ << have;
        sum += {_product(kernel, f"((int32_t)(buffer << {32 - k}) >> {32 - k})", "*q++")};
        buffer >>= {k};
        have -= {k}u;
    }}
    return sum;
}}
"""


WORD_AT = """/* Four bytes of a stream of codes as a word, the first lowest; one load where the processor allows it. */
static inline uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
"""


def definitions(kernels: set[Kernel]) -> str:
    """Return all that the loops need, and the loops."""
    parts = []
    if any(kernel.bits in WORDS for kernel in kernels):
        parts.append(WORD_AT)
    return "\n".join([*parts, *(kernel.definition() for kernel in sorted(kernels))])
