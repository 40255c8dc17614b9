"""No step, no group and no fixed case is ever on two sides, whatever the data; windows stay inside their part."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigenloop.tasks import DataError
from eigenloop.tasks.sequences import Pieces, SequenceData, blocks, folds, from_arrays, split, whole, windows

SHARES = st.sampled_from([0.0, 0.1, 0.15, 0.3, 0.45])


def data_of(lengths: list[int], y: object = None, groups: object = None, parts: object = None) -> SequenceData:
    values = np.random.default_rng(0).normal(size=(sum(lengths), 2))
    return from_arrays(values, y, lengths=lengths, groups=groups, parts=parts)


def steps(pieces: Pieces) -> list[tuple[int, int]]:
    """Every step of every piece, as often as it is there."""
    return [
        (case, step)
        for case, start, length in zip(pieces.case, pieces.start, pieces.length, strict=True)
        for step in range(start, start + length)
    ]


def check_apart(parts: dict[str, Pieces], data: SequenceData, window: int, stride: int, complete: bool = True) -> None:
    """Parts share no step, nor do their windows; together they are everything."""
    seen = {name: steps(pieces) for name, pieces in parts.items()}
    every = [step for found in seen.values() for step in found]
    assert len(every) == len(set(every))
    if complete:
        assert set(every) == set(steps(whole(data)))
    cut = {name: set(steps(windows(pieces, window, stride))) for name, pieces in parts.items()}
    for one, other in combinations(cut, 2):
        assert not cut[one] & cut[other]
    assert all(cut[name] <= set(found) for name, found in seen.items())


@given(st.data())
def test_cases_and_groups(draw: st.DataObject) -> None:
    count = draw.draw(st.integers(3, 40))
    lengths = draw.draw(st.lists(st.integers(2, 9), min_size=count, max_size=count))
    y = draw.draw(st.lists(st.sampled_from("abc"), min_size=count, max_size=count))
    groups = draw.draw(st.none() | st.lists(st.integers(0, 9), min_size=count, max_size=count))
    data = data_of(lengths, y, groups)
    valid, test, seed = draw.draw(SHARES), draw.draw(SHARES), draw.draw(st.integers(0, 5))
    wanted = 1 + (valid > 0) + (test > 0)
    if groups is not None and len(set(groups)) < wanted:
        with pytest.raises(DataError, match="groups cannot fill"):
            split(data, valid=valid, test=test, seed=seed)
        return
    parts = split(data, valid=valid, test=test, seed=seed, by="cases")
    again = split(data, valid=valid, test=test, seed=seed, by="cases")
    assert all(np.array_equal(parts[name].case, again[name].case) for name in parts)
    check_apart(parts, data, draw.draw(st.integers(1, 6)), draw.draw(st.integers(1, 6)))
    assert sum(len(pieces) > 0 for pieces in parts.values()) == wanted
    assert bool(len(parts["valid"])) == (valid > 0)
    if groups is not None:
        sides = [{groups[case] for case in pieces.case} for pieces in parts.values()]
        assert not any(one & other for one, other in combinations(sides, 2))


@given(st.data())
def test_blocks_of_time(draw: st.DataObject) -> None:
    lengths = draw.draw(st.lists(st.integers(20, 60), min_size=1, max_size=5))
    data = data_of(lengths, ["a"] * len(lengths))
    parts = split(data, valid=draw.draw(SHARES), test=draw.draw(SHARES))
    check_apart(parts, data, draw.draw(st.integers(1, 12)), draw.draw(st.integers(1, 12)))
    for case in range(len(data)):
        bounds = [(p.start[p.case == case], p.start[p.case == case] + p.length[p.case == case]) for p in parts.values()]
        order = [(int(start[0]), int(stop[0])) for start, stop in bounds if len(start)]
        assert order == sorted(order)
        assert len(order) == sum(len(pieces) > 0 for pieces in parts.values())


@given(st.data())
def test_folds_test_everything_once(draw: st.DataObject) -> None:
    few = draw.draw(st.booleans())
    count = draw.draw(st.integers(1, 4) if few else st.integers(12, 40))
    lengths = draw.draw(st.lists(st.integers(40, 50) if few else st.integers(1, 5), min_size=count, max_size=count))
    groups = None if few else draw.draw(st.none() | st.lists(st.integers(0, 9), min_size=count, max_size=count))
    number = draw.draw(st.integers(2, 5))
    # Two folds may leave one group alone, too few for training and choosing.
    assume(groups is None or len(set(groups)) > number > 2)
    data = data_of(lengths, (["a", "b"] * count)[:count], groups)
    found = folds(data, number, valid=draw.draw(SHARES), seed=draw.draw(st.integers(0, 3)))
    tested = [step for parts in found for step in steps(parts["test"])]
    assert sorted(tested) == sorted(steps(whole(data)))
    for parts in found:
        check_apart(parts, data, 5, 2)
        assert len(parts["train"])
        if groups is not None:
            sides = [{groups[case] for case in pieces.case} for pieces in parts.values()]
            assert not any(one & other for one, other in combinations(sides, 2))


@given(st.data())
def test_fixed_parts_stay(draw: st.DataObject) -> None:
    count = draw.draw(st.integers(8, 30))
    given_parts = draw.draw(st.lists(st.sampled_from(["train", "test", "valid"]), min_size=count, max_size=count))
    given_parts[:4] = ["train"] * 4
    parts = split(data_of([3] * count, ["a", "b"] * (count // 2) + ["a"] * (count % 2), parts=given_parts))
    for name in ("valid", "test"):
        fixed = [case for case, part in enumerate(given_parts) if part == name]
        if fixed:
            assert parts[name].case.tolist() == fixed
        else:
            assert {given_parts[case] for case in parts[name].case} == {"train"}
    assert {given_parts[case] for case in parts["train"].case} == {"train"}


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_windows_against_a_loop(lengths: list[int], window: int, stride: int, keep_rest: bool) -> None:
    expected = []
    for case, length in enumerate(lengths):
        starts = [start for start in range(0, length, stride) if start + window <= length]
        expected += [(case, start, window) for start in starts] or [(case, 0, length)]
        after = len(starts) * stride
        if keep_rest and starts and max(starts[-1] + window, after) < length:
            expected.append((case, after, length - after))
    found = windows(whole(data_of(lengths)), window, stride, keep_rest=keep_rest)
    assert list(zip(found.case.tolist(), found.start.tolist(), found.length.tolist(), strict=True)) == expected


@given(st.lists(st.integers(1, 50), min_size=1, max_size=5), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_blocks_are_contiguous(lengths: list[int], shares: list[int]) -> None:
    data = data_of(lengths)
    found = blocks(whole(data), [float(share) for share in shares])
    assert sorted(step for pieces in found for step in steps(pieces)) == sorted(steps(whole(data)))


def test_classes_are_shared_out_alike() -> None:
    y = ["a"] * 100 + ["b"] * 40 + ["c"] * 10 + ["d"]
    parts = split(data_of([2] * 151, y), valid=0.2, test=0.2, seed=3)
    counts = {name: [sum(y[case] == kind for case in pieces.case) for kind in "abcd"] for name, pieces in parts.items()}
    assert counts == {"train": [60, 24, 6, 1], "valid": [20, 8, 2, 0], "test": [20, 8, 2, 0]}
    others = split(data_of([2] * 151, y), valid=0.2, test=0.2, seed=4)
    assert set(parts["test"].case) != set(others["test"].case)


def test_groups_come_near_the_shares() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 30, 600)
    y = (rng.random(600) < 0.2 + 0.6 * (groups % 2)).astype(int)
    parts = split(data_of([2] * 600, y, groups))
    for name, share in (("train", 0.7), ("valid", 0.15), ("test", 0.15)):
        assert abs(len(parts[name]) / 600 - share) < 0.03
        assert abs(y[parts[name].case].mean() - y.mean()) < 0.06


def test_order() -> None:
    parts = split(data_of([2] * 20, [0, 1] * 10), valid=0.2, test=0.2, by="order")
    assert [pieces.case.tolist() for pieces in parts.values()] == [[*range(12)], [*range(12, 16)], [*range(16, 20)]]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"valid": 0.5, "test": 0.5}, "shares that leave some for training"),
        ({"valid": -0.1}, "shares that leave"),
        ({"by": "luck"}, "by is one of"),
    ],
)
def test_wrong_options(options: dict[str, float], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        split(data_of([2] * 20, [0, 1] * 10), **options)


def test_groups_are_not_cut_in_time() -> None:
    with pytest.raises(ValueError, match="by='time' could split a group: drop by='time' or the groups"):
        split(data_of([20] * 4, [0, 1, 0, 1], groups=[0, 1, 2, 3]), by="time")
    with pytest.raises(DataError, match="too short for a test split"):
        split(data_of([2]))


@pytest.mark.parametrize("grouped", [True, False])
def test_fixed_parts_check_by_too(grouped: bool) -> None:
    groups = np.arange(20) // 4 if grouped else None
    data = data_of([9] * 20, [0, 1] * 10, groups=groups, parts=["train"] * 16 + ["test"] * 4)
    refused = {"time": "could split a group" if grouped else "the file fixes the split", "luck": "by is one of"}
    if grouped:
        refused["order"] = "by='order' could split a group"
    else:
        assert split(data, by="order")["train"].case.tolist() == [*range(13)]
    for by, sentence in refused.items():
        with pytest.raises(ValueError, match=sentence):
            split(data, by=by)
        with pytest.raises(ValueError, match=sentence):
            folds(data, 3, by=by)


@pytest.mark.parametrize("cut", [{"groups": [0] * 5}, {"parts": ["train"] * 2 + ["test"] * 3}])
def test_time_is_advised_only_where_it_is_allowed(cut: dict[str, object]) -> None:
    with pytest.raises(DataError, match=r"cannot fill 3 splits: .*a share of 0\)$"):
        folds(data_of([9] * 5, [0, 1, 0, 1, 0], **cut), 3)
    with pytest.raises(DataError, match=r"cut recordings in time \(by='time'\)$"):
        split(data_of([9] * 2, [0, 1]), by="cases")
