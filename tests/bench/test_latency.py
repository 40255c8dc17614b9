"""Single steps: every contender takes part, and onnxruntime's carried state is torch's."""

import json
import math

import pytest
import torch

from eigenloop.bench import latency, table
from eigenloop.bench.onnx_graph import step_session
from eigenloop.deploy.c.compiled import compiler


def test_contenders_take_part() -> None:
    try:
        compiler()
    except RuntimeError as reason:
        pytest.skip(str(reason))
    entries = latency.latencies(rounds=1, calls=1, sizes=(6,))
    assert [entry["recurrence"] for entry in entries] == ["RNN", "GRU", "LSTM"]
    for entry in entries:
        assert all(float(entry[name]) > 0 for name in latency.CONTENDERS if name != "onnxruntime")
    for entry in latency.batch_latencies(rounds=1, calls=1, sizes=(6,)):
        assert all(float(entry[name]) > 0 for name in latency.BATCH_CONTENDERS)


def test_what_is_not_installed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    entry: latency.Entry = {"recurrence": "GRU", "n": 32, "stream": 10.0, "onnxruntime": math.nan}
    names = {"stream": "el.Stream", "onnxruntime": "onnxruntime"}
    table._print_steps([entry], names, "title", as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "title",
        "recurrence, n       el.Stream     onnxruntime",
        "GRU 32                   10.0   not installed",
    ]
    table._print_steps([entry], names, "title", as_json=True)
    assert json.loads(capsys.readouterr().out)["onnxruntime"] is None


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_onnxruntime_carries_its_state(kind: str) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'eigenloop[onnx]'")
    layer = getattr(torch.nn, kind)(5, 7)
    step, X = step_session(layer), torch.randn(6, 2, 5)
    assert step is not None
    with torch.no_grad():
        torch.testing.assert_close(torch.cat([step(x[None]) for x in X]), layer(X)[0])
