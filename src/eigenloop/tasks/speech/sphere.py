"""NIST SPHERE audio: a text header of fields ``name -type value``, followed by the samples.

The header starts with ``NIST_1A``, has its own size in bytes on the second line, and ends with ``end_head``.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError

#: The first bytes of a SPHERE file.
MAGIC = b"NIST_1A\n"

_SIZE = re.compile(rb"NIST_1A\n *(\d{1,7})\n")
_FIELD = re.compile(r"^(\w+) -(?:i|r|s\d+) (.*)$", re.MULTILINE)
_BYTE_ORDERS = {"01": "<i2", "10": ">i2"}


def parse(path: Path, data: bytes) -> tuple[int, NDArray[np.int16]]:
    """Return the sample rate and the samples of 16-bit mono audio; `path` is for messages only.

    Raises:
        DataError: the header is damaged or describes another format, or samples are missing.
    """
    size = _SIZE.match(data)
    if size is None or len(data) < int(size[1]):
        raise DataError(path, "the SPHERE header is cut off or damaged: get the file again")
    header = data[: int(size[1])].decode("ascii", "replace").partition("\nend_head")[0]
    fields = {name: value.strip() for name, value in _FIELD.findall(header)}
    coding = fields.get("sample_coding", "pcm")
    if coding != "pcm":
        raise DataError(
            path, f"the samples are coded as {coding!r} where 'pcm' is wanted: unpack them with `sph2pipe -p -f wav`"
        )
    _wanted(path, fields, "channel_count", ("1",))
    _wanted(path, fields, "sample_n_bytes", ("2",))
    order = _BYTE_ORDERS[_wanted(path, fields, "sample_byte_format", tuple(_BYTE_ORDERS))]
    expected, available = _number(path, fields, "sample_count"), (len(data) - int(size[1])) // 2
    if available < expected:
        raise DataError(path, f"it is cut off: {expected:,} samples are expected and {available:,} found; get it again")
    samples = np.frombuffer(data, order, expected, int(size[1]))
    return _number(path, fields, "sample_rate"), samples.astype(np.int16)


def _wanted(path: Path, fields: dict[str, str], name: str, values: tuple[str, ...]) -> str:
    value = fields.get(name)
    if value not in values:
        given = "is missing" if value is None else f"is {value!r}"
        raise DataError(path, f"{name} {given} in the SPHERE header, where it should be {' or '.join(values)}")
    return value


def _number(path: Path, fields: dict[str, str], name: str) -> int:
    value = fields.get(name)
    if value is None or re.fullmatch("[0-9]{1,12}", value) is None:
        given = "is missing" if value is None else f"is {value!r}"
        raise DataError(path, f"{name} {given} in the SPHERE header, where it should be a whole number")
    return int(value)
