"""What is written down can be read as JSON by anything."""

import json
import math
from pathlib import Path

import pytest

from eigenloop.runs import RunFolder, read_metrics
from eigenloop.runs.reading import METRICS


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.log({"kind": "valid", "step": 3, "perplexity": math.inf, "loss": math.nan, "accuracy": 0.5})
    folder.close()
    written = json.loads((tmp_path / METRICS).read_text(), parse_constant=pytest.fail)
    assert written == {"kind": "valid", "step": 3, "perplexity": None, "loss": None, "accuracy": 0.5}
    (line,) = read_metrics(tmp_path)
    assert line.values == {"accuracy": 0.5}
