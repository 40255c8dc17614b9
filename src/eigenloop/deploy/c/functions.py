"""The operations of `eigenloop.deploy.operations` in C; an export has only those that its network uses."""

from __future__ import annotations

from eigenloop.deploy.table import Table

SHIFTED = """/* a / 2^r to the nearest, halves up: docs/integers.md, "The rounding rule". */
static inline int64_t shifted(int64_t a, uint32_t r)
{
    return (a + (INT64_C(1) << (r - 1u))) >> r;
}
"""

LIMITED = """static inline int32_t limited(int64_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : (int32_t)value;
}
"""

MODRELU = """/* sign(a) max(|a| + t, 0) / 2^r: docs/integers.md, "Activations". */
static inline int64_t modrelu(int64_t a, int64_t t, uint32_t r)
{
    int64_t size = (a < 0 ? -a : a) + t;
    if (size <= 0 || a == 0)
        return 0;
    size = shifted(size, r);
    return a < 0 ? -size : size;
}
"""

LEAKY = """/* z = a / 2^r in 32 bits, and z M / 2^s below zero: docs/integers.md, "Activations". */
static inline int64_t leaky(int64_t a, uint32_t r, int32_t slope, uint32_t s)
{
    int32_t z = limited(shifted(a, r), INT32_MIN, INT32_MAX);
    return z >= 0 ? z : shifted((int64_t)z * slope, s);
}
"""


def tanh_of(table: Table) -> str:
    """Return the C function that looks up tanh in a table."""
    entries = len(table.entries)
    s = 16 + table.range_bits - (entries - 1).bit_length() + 1
    last = (1 << (16 + table.range_bits)) - 1
    return f"""/* 2^15 tanh(v / 2^16), linear between the entries of a table: docs/integers.md, "Activations". */
static int32_t tanh_of(int64_t v)
{{
    uint32_t a = v < -{last} || v > {last} ? {last}u : (uint32_t)(v < 0 ? -v : v);
    uint32_t i = a >> {s}, f = a - (i << {s});
    uint32_t y = (table[i] * ({1 << s}u - f) + table[i + 1u] * f + {1 << (s - 1)}u) >> {s};
    return v < 0 ? -(int32_t)y : (int32_t)y;
}}
"""


SIGMOID = """/* A gate of so many bits, from 0 to 2^(bits - 1): docs/integers.md, "Activations". */
static int32_t sigmoid(int64_t v, uint32_t bits)
{
    return (tanh_of(v) + 32768 + (INT32_C(1) << (16u - bits))) >> (17u - bits);
}
"""
