"""The picture of a comparison: labels beside marks that nearly coincide do not cover each other."""

from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import pytest

from eigenloop.trials.picture import _label


def row(size: int, score: float, bits: int | None) -> Any:
    return SimpleNamespace(
        combination=SimpleNamespace(bits=bits, bytes=size), score=SimpleNamespace(mean=score, deviation=None)
    )


@pytest.mark.parametrize(
    ("rows", "sides"),
    [
        ([row(40_000, 0.918, None), row(39_000, 0.917, None), row(8_000, 0.93, 4)], ["left", "right", "left"]),
        ([row(40_000, 0.918, None), row(40_000, 0.93, None)], ["left", "left"]),
    ],
)
def test_labels_do_not_overlap(rows: list[Any], sides: list[str]) -> None:
    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    axes.set(xscale="log", xlim=(5_000, 100_000), ylim=(0.9, 0.95))
    _label(axes, rows, ["black"] * len(rows))
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert sorted(text.get_horizontalalignment() for text in axes.texts) == sorted(sides)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    plt.close(figure)
