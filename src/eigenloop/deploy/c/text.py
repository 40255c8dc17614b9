"""Small pieces of C: types, constants, names and strings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: Words that the generated files cannot take for a name: those of C99 to C23 and of C++ that a header would meet.
_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while alignas alignof asm bool catch class constexpr delete explicit export false friend main
mutable namespace new nullptr operator private protected public static_assert template this
thread_local throw true try typename typeof using virtual
"""
#: Headers that NAME.h would hide from a compiler that is told to look into its folder.
_HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg
stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar wchar
wctype memory new unistd
"""
_TAKEN = frozenset((_KEYWORDS + _HEADERS).split())


def checked_name(name: str) -> str:
    """Refuse a name that is not a C identifier; it becomes the beginning of every symbol and file name.

    >>> checked_name("watch")
    'watch'
    """
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name) or name.lower() in _TAKEN or len(name) > 31:
        raise ValueError(
            f"name={name!r} is not a name that C can have: at most 31 letters, digits and underscores, a letter first, "
            "no keyword and no header of C, as in name='watch'"
        )
    return name


def name_from(text: str) -> str:
    """Return the C name nearest to a text, or ``network``.

    >>> name_from("har-ncgru"), name_from("2"), name_from("int")
    ('har_ncgru', 'network', 'network')
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:31]
    try:
        return checked_name(name)
    except ValueError:
        return "network"


def signed(bits: int) -> str:
    """Return the type of signed whole numbers of 8, 16, 32 or 64 bits."""
    return f"int{bits}_t"


def literal(value: int, bits: int) -> str:
    """Return a whole number as C writes it; the lowest of 32 or 64 bits has no literal of its own."""
    if bits == 64:
        return "(-INT64_C(9223372036854775807) - 1)" if value == -(2**63) else f"INT64_C({value})"
    return "(-2147483647 - 1)" if value == -(2**31) else str(value)


def string(value: str) -> str:
    r"""Return a string literal that says what `value` says and nothing else.

    Every byte that is not a plain letter, digit, space or one of a few signs becomes an octal escape of three digits,
    which, unlike a hexadecimal one, ends by itself. So no quote, newline or trigraph comes through.

    >>> print(string('a"b'))
    "a\042b"
    """
    plain = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:()+=")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in value.encode()) + '"'


def comment(value: str) -> str:
    """Return text that can stand in a comment: printable ASCII without its ends.

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
