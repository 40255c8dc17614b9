"""Small pieces of C: types, constants, names and strings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: Keywords of C99 to C23 and C++, which cannot be names in a header.
_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while alignas alignof asm bool catch class constexpr delete explicit export false friend main
mutable namespace new nullptr operator private protected public static_assert template this
thread_local throw true try typename typeof using virtual
"""
#: Standard headers that NAME.h would hide when its folder is in the include path.
_HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg
stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar wchar
wctype memory new unistd
"""
_TAKEN = frozenset((_KEYWORDS + _HEADERS).split())


def checked_name(name: str) -> str:
    """Return `name`, the prefix of every symbol and file name; raise ValueError if it is not a usable C identifier.

    >>> checked_name("watch")
    'watch'
    """
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name) or name.lower() in _TAKEN or len(name) > 31:
        raise ValueError(
            f"name={name!r} is not a valid C identifier: use at most 31 letters, digits and underscores, a letter "
            "first, no keyword and no header of C, as in name='watch'"
        )
    return name


def name_from(text: str) -> str:
    """Return a C name made from a text, or ``network`` if that is not possible.

    >>> name_from("har-ncgru"), name_from("2"), name_from("int")
    ('har_ncgru', 'network', 'network')
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:31]
    try:
        return checked_name(name)
    except ValueError:
        return "network"


def signed(bits: int) -> str:
    """Return the C type of signed integers of 8, 16, 32 or 64 bits."""
    return f"int{bits}_t"


def literal(value: int, bits: int) -> str:
    """Return an integer as a C expression; the smallest of 32 or 64 bits has no literal and is written as -MAX - 1."""
    if bits == 64:
        return "(-INT64_C(9223372036854775807) - 1)" if value == -(2**63) else f"INT64_C({value})"
    return "(-2147483647 - 1)" if value == -(2**31) else str(value)


def string(value: str) -> str:
    r"""Return `value` as a C string literal.

    Every byte that is not an ASCII letter, digit, space or one of a few other characters becomes an octal escape of
    three digits, which, unlike a hexadecimal one, has a fixed length. So the text cannot end the literal or form a
    trigraph.

    >>> print(string('a"b'))
    "a\042b"
    """
    plain = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:()+=")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in value.encode()) + '"'


def comment(value: str) -> str:
    """Return text that is safe in a C comment: characters that are not printable ASCII or could end it become "?".

    >>> comment('weights */ of *')
    'weights ?? of ?'
    """
    return "".join(sign if " " <= sign <= "~" and sign not in "*/\\?" else "?" for sign in value)


def array(kind: str, name: str, values: Iterable[int] | NDArray[np.generic], bits: int, note: str = "") -> str:
    """Return the definition of a constant array."""
    numbers = [literal(int(value), bits) for value in values]
    body = textwrap.fill(", ".join(numbers), 110, initial_indent="    ", subsequent_indent="    ")
    head = f"/* {comment(note)} */\n" if note else ""
    return f"{head}static const {kind} {name}[{len(numbers)}] = {{\n{body}\n}};\n"
