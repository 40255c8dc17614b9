"""Eigenvalues in the complex plane are where they belong."""

import cmath
import math
import re

import pytest

from eigenloop.charts import Planes, panel
from eigenloop.charts.plane import EDGE, SIZE


def test_eigenvalues_are_where_they_belong() -> None:
    made = panel([1j, -1j], [1, -0.5 + 0.25j, complex(math.nan, 0)], title="run", style="c0")
    unit = (SIZE / 2 - EDGE) / 1.12
    assert made.circle == pytest.approx(unit, abs=0.05)
    after = [(float(x), float(y)) for x, y in re.findall(r"M(\S+) (\S+)h0", made.after)]
    assert after == [pytest.approx((unit, 0), abs=0.05), pytest.approx((-unit / 2, -unit / 4), abs=0.05)]
    before = [tuple(map(float, pair.split(","))) for pair in made.before.split()]
    assert before == [pytest.approx((0, -unit), abs=0.05), pytest.approx((0, unit), abs=0.05)]
    assert made.caption == "2 eigenvalues, largest modulus 1.000 to 1.000; 1 not finite"


def test_large_spectra_fit() -> None:
    made = panel([40 + 30j], [], title="far", style="c0")
    assert all(abs(float(part)) <= SIZE / 2 for part in made.before.split(","))
    assert [label for _, label in made.grid] == ["20", "40"]
    assert made.caption == "1 eigenvalue before training only, largest modulus 50.000"


def test_circles_are_recognised_and_titles_escaped() -> None:
    circle = [cmath.rect(1 + 5e-5 * (-1) ** k, k) for k in range(7)]
    made = panel(circle, circle, title="<b>", style="c1")
    assert made.caption == "7 eigenvalues, all on the unit circle"
    assert "&lt;b&gt;" in Planes((made,)).__html__()
