"""Labels: none covers another, and those of reference lines stand where the fewest curves pass."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from eigenloop.charts.dodging import clearest, dodged


@given(st.lists(st.floats(0, 340), max_size=20))
def test_labels_do_not_collide(wanted: list[float]) -> None:
    found = dodged(wanted, 17, 340)
    order = sorted(found)
    assert all(b - a >= 16.8 for a, b in pairwise(order))
    assert all(0 <= place <= 340 for place in found)
    ranks = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert all(found[a] < found[b] for a, b in pairwise(ranks)), "the order of the curves is that of their labels"


def test_labels_with_room_stay_where_they_are() -> None:
    assert dodged([10, 100, 300], 17, 340) == [10, 100, 300]


def test_labels_of_references_avoid_curves() -> None:
    above = [(0.0, 0.54), (1.0, 0.54)]
    below = [(0.0, 0.46), (1.0, 0.46)]
    late = [[(0.7, 0.5 + d), (0.8, 0.5 + d)] for d in (-0.05, 0.05)]
    assert clearest([], 0.5) == ("end", False)
    assert clearest([above], 0.5) == ("end", True)
    assert clearest([below], 0.5) == ("end", False)
    assert clearest(late, 0.5) == ("start", False)
    assert clearest([above, above, below], 0.5) == ("end", True), "of two bad places the better one"


@given(st.floats(0, 1), st.floats(0.01, 0.4))
def test_labels_of_references_stay_inside(height: float, high: float) -> None:
    _, below = clearest([], height, high)
    assert (height - high if below else height) >= 0
    assert (height if below else height + high) <= 1
