"""Training, validation and test splits by groups, stratified by class, or in time; and cross-validation folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import ConfigError, DataError
from eigenloop.tasks.options import at_least, one_of
from eigenloop.tasks.sequences.data import PARTS, SequenceData
from eigenloop.tasks.sequences.pieces import Pieces, blocks, whole
from eigenloop.tasks.sequences.shares import by_class, by_group, in_order

By = Literal["cases", "order", "time"]
#: With fewer cases than this every recording is cut in time, so that each split contains all recordings.
FEW = 10


def split(
    data: SequenceData, *, valid: float = 0.15, test: float = 0.15, seed: int = 0, by: By | None = None
) -> dict[str, Pieces]:
    """Return the pieces of ``train``, ``valid`` and ``test``; cut them into `windows` afterwards.

    Splits that the file fixes are kept; missing ones are taken from its training split. Groups are never split. Without
    groups, splits are stratified by class. With ``by="time"`` every case is cut into contiguous blocks, train first and
    test last; this is the default for fewer than 10 cases without groups or fixed splits, which exclude it. With
    ``by="order"`` the first cases of the file are for training and the last for testing, which suits cases that are
    overlapping windows of a recording; groups exclude it.

    Raises:
        ValueError: `valid`, `test` or `by` is not valid.
        DataError: there are too few cases or groups, or recordings are too short.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> parts = split(from_arrays(np.zeros((20, 5)), [0, 1] * 10, groups=np.arange(20) // 4), valid=0.2, test=0.2)
    >>> {name: len(pieces) for name, pieces in parts.items()}
    {'train': 12, 'valid': 4, 'test': 4}
    """
    if not (0 <= valid < 1 and 0 <= test < 1 and valid + test < 1):
        raise ConfigError(f"valid and test are shares that leave some for training, got {valid} and {test}")
    shares = dict(zip(PARTS, (1 - valid - test, valid, test), strict=True))
    by = _chosen(data, by)
    if data.parts is not None:
        return _fixed(data, data.parts, shares, seed, by)
    if by == "time":
        return _not_empty(data, dict(zip(PARTS, blocks(whole(data), list(shares.values())), strict=True)), shares)
    return _drawn(data, np.arange(len(data)), shares, seed, by)


def folds(
    data: SequenceData, count: int, *, valid: float = 0.15, seed: int = 0, by: By | None = None
) -> list[dict[str, Pieces]]:
    """Return `count` cross-validation folds: every case, group or block of time is in exactly one test split.

    A test split that the file fixes is left out, because it is reserved for the final result.

    Raises:
        ValueError: `count`, `valid` or `by` is not valid.
        DataError: there are too few cases or groups, or recordings are too short.

    >>> from eigenloop.tasks.sequences import from_arrays
    >>> [fold["test"].case.tolist() for fold in folds(from_arrays(np.zeros((12, 5)), [0, 1] * 6), 4, valid=0)]
    [[4, 8, 9], [0, 2, 3], [1, 7, 10], [5, 6, 11]]
    """
    at_least("folds", count, 2)
    if not 0 <= valid < 1:
        raise ConfigError(f"valid is a share below 1, got {valid}")
    by = _chosen(data, by)
    if by == "time":
        return _time_folds(data, count, valid)
    cases = np.arange(len(data)) if data.parts is None else np.flatnonzero(data.parts != PARTS.index("test"))
    assigned = _assigned(data, cases, [1 / count] * count, seed, by)
    splits = []
    for fold in range(count):
        shares = {"train": 1 - valid, "valid": valid}
        parts = _drawn(data, cases[assigned != fold], shares, seed, by)
        splits.append({**parts, "test": whole(data, cases[assigned == fold])})
    return splits


def _fixed(
    data: SequenceData, parts: NDArray[np.int64], shares: dict[str, float], seed: int, by: By
) -> dict[str, Pieces]:
    given = {name: np.flatnonzero(parts == number) for number, name in enumerate(PARTS)}
    if not len(given["train"]):
        raise DataError(data.origin.path, "it fixes the splits, but no case is for training: mark some as train")
    drawn = {name: share for name, share in shares.items() if name == "train" or not len(given[name])}
    # Shares are relative to what remains without the fixed splits.
    drawn = {name: share / sum(drawn.values()) for name, share in drawn.items()}
    drawn_parts = _drawn(data, given["train"], drawn, seed, by)
    return {name: drawn_parts[name] if name in drawn_parts else whole(data, given[name]) for name in PARTS}


def _drawn(
    data: SequenceData, cases: NDArray[np.int64], shares: dict[str, float], seed: int, by: By
) -> dict[str, Pieces]:
    wanted = [name for name, share in shares.items() if share > 0]
    assigned = _assigned(data, cases, [shares[name] for name in wanted], seed, by)
    return {
        name: whole(data, cases[assigned == wanted.index(name)] if name in wanted else cases[:0]) for name in shares
    }


def _assigned(
    data: SequenceData, cases: NDArray[np.int64], shares: Sequence[float], seed: int, by: By
) -> NDArray[np.int64]:
    """Return the index of the split of each of these cases."""
    classes = np.zeros(len(cases), np.int64)
    if data.labels is not None and data.class_names is not None and not data.per_step:
        classes = data.labels[cases]
    groups = None if data.groups is None else data.groups[cases]
    units = len(cases) if groups is None else len(np.unique(groups))
    if units < len(shares):
        what = "cases" if groups is None else "groups"
        in_time = ", or cut recordings in time (by='time')" if groups is None and data.parts is None else ""
        raise DataError(
            data.origin.path,
            f"{units} {what} cannot fill {len(shares)} splits: give more, or fewer splits (a share of 0){in_time}",
        )
    if by == "order":
        return in_order(len(cases), shares)
    rng = np.random.default_rng((seed, len(shares)))
    return by_class(classes, shares, rng) if groups is None else by_group(groups, classes, shares, rng)


def _chosen(data: SequenceData, by: By | None) -> By:
    """Return how to split; raise ValueError if `by` is unknown or does not suit the data."""
    if by is None:
        return "time" if len(data) < FEW and data.groups is None and data.parts is None else "cases"
    one_of("by", by, get_args(By))
    if by != "cases" and data.groups is not None:
        raise ConfigError(
            f"by={by!r} could split a group", f"drop by={by!r} or the groups", flags=f"drop --by {by} or the groups"
        )
    if by == "time" and data.parts is not None:
        raise ConfigError(
            "by='time' cuts every case, but the file fixes the split of whole cases",
            "drop by='time' or the fixed splits",
            flags="drop --by time or the fixed splits",
        )
    return by


def _time_folds(data: SequenceData, count: int, valid: float) -> list[dict[str, Pieces]]:
    """Return folds in which every block of time is tested once, and the end of the block before it validates."""
    cut = blocks(whole(data), [1.0] * count)
    splits = []
    for fold in range(count):
        others = [cut[(fold + 1 + n) % count] for n in range(count - 1)]
        share = min(0.5, valid * (count - 1))
        kept, validating = blocks(others[-1], [1 - share, share]) if share else (others[-1], others[-1][:0])
        train = _together([*others[:-1], kept])
        parts = {"train": train, "valid": validating, "test": cut[fold]}
        splits.append(_not_empty(data, parts, {"train": 1, "valid": valid, "test": 1}))
    return splits


def _together(pieces: list[Pieces]) -> Pieces:
    return Pieces(*(np.concatenate([getattr(p, name) for p in pieces]) for name in ("case", "start", "length")))


def _not_empty(data: SequenceData, parts: dict[str, Pieces], shares: dict[str, float]) -> dict[str, Pieces]:
    for name, pieces in parts.items():
        if shares[name] > 0 and not len(pieces):
            raise DataError(data.origin.path, f"its recordings are too short for a {name} split: give a share of 0")
    return parts


def with_weight(data: SequenceData, parts: Mapping[str, Pieces]) -> Mapping[str, Pieces]:
    """Return the splits; raises DataError if all cases of one have weight 0, so that it has no mean loss."""
    for part, pieces in parts.items():
        if data.weights is not None and len(pieces) and not data.weights[pieces.case].any():
            raise DataError(
                data.origin.path,
                f"all {len(pieces):,} cases of the {part} split have weight 0, so its loss means nothing: give some of "
                "them more, or leave the column of weights out",
            )
    return parts
