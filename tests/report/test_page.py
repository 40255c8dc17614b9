"""The page as text: one file, escaped, valid JSON, written at once or not at all."""

import json
import re
from pathlib import Path

import pytest
import synthetic_runs as synthetic
import yaml
from html_reader import Reader, read

from eigenloop import report
from eigenloop.runs.reading import METRICS, SPECTRA, SUMMARY
from eigenloop.training import RunError

EVIL = "</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}"


def page(*folders: Path) -> tuple[str, Reader]:
    out = report.write(folders, folders[0].parent / "report.html")
    text = out.read_text(encoding="utf-8")
    return text, read(text)


def standard(folder: Path) -> list[Path]:
    makers = (
        synthetic.solved_scornn,
        synthetic.lstm_at_the_baseline,
        synthetic.unfinished_gru,
        synthetic.diverged_rnn,
    )
    return [make(folder / make.__name__) for make in makers]


def strict(text: str) -> object:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def test_the_page_of_four_runs(tmp_path: Path) -> None:
    text, reader = page(*standard(tmp_path))
    words = " ".join(" ".join(reader.texts).split())
    assert "scoRNN, LSTM, GRU and RNN on the copying task" in words
    assert "scoRNN solved it; LSTM stayed at the baseline; RNN diverged; GRU is not finished." in words
    assert "No eigenvalues were recorded for LSTM and GRU." in words
    assert "Not evaluated yet, so only the training values are drawn: GRU." in words
    assert f"No {SUMMARY}: the run has not finished, or it was killed." in words
    assert "commit 0123abc" in words or "0123abc" in words
    assert len(reader.blocks) == 2
    for block in reader.blocks:
        assert strict(block)
    assert len(text) < 400_000


def test_nothing_is_fetched(tmp_path: Path) -> None:
    text, reader = page(*standard(tmp_path))
    for tag, attributes in reader.tags:
        assert tag not in {"img", "iframe", "object", "embed", "base", "form"}
        for name in ("src", "href", "action", "data"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:image/svg+xml,")), (tag, value)
    assert "url(" not in re.sub(r"url\(#", "", text)
    assert "@import" not in text


def test_identifiers_are_unique_and_references_exist(tmp_path: Path) -> None:
    _, reader = page(*standard(tmp_path))
    identifiers = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(set(identifiers)) == len(identifiers)
    for _, attributes in reader.tags:
        for key in (attributes.get("aria-labelledby") or "").split():
            assert key in identifiers
        if (attributes.get("href") or "").startswith("#"):
            assert (attributes["href"] or "")[1:] in identifiers


def test_everything_is_escaped(tmp_path: Path) -> None:
    harmless = [tag for tag, _ in page(*standard(tmp_path / "harmless"))[1].tags]
    folders = standard(tmp_path / "evil")
    for folder in folders:
        settings = yaml.safe_load((folder / "config.yaml").read_text())
        settings |= {EVIL: {"name": EVIL, EVIL: [EVIL]}, "task": {"name": EVIL, EVIL: EVIL}}
        settings["model"]["hidden_size"] = EVIL
        settings["model"]["name"] = EVIL + settings["model"]["name"]
        (folder / "config.yaml").write_text(yaml.safe_dump(settings))
        for name in (SUMMARY, SPECTRA, METRICS):
            if (folder / name).exists():
                text = (folder / name).read_text()
                for key in ("recurrent_l0", "gradient_norm"):
                    text = text.replace(f'"{key}":', json.dumps(EVIL + key) + ":")
                for value in ("finished", "all steps are done", "0123abc"):
                    text = text.replace(f': "{value}"', ": " + json.dumps(EVIL))
                (folder / name).write_text(text)
    text, reader = page(*folders)
    found = [tag for tag, _ in reader.tags]
    assert set(found) == set(harmless), "no element comes from the files"
    assert "img" not in found
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    assert EVIL in "".join(reader.texts), "and yet it is shown as it is"
    assert "49" not in re.findall(r"onerror=alert\(1\)>&#34;&#39;&amp;(.{0,6})", text)


def test_lone_surrogates_do_not_stop_the_page(tmp_path: Path) -> None:
    end = synthetic.summary(reason="half a letter \ud83d")
    text, _ = page(synthetic.write_run(tmp_path / "run", end=end))
    assert "half a letter ?" in text


def test_a_config_that_explodes_when_written_out(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path / "run")
    bomb = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else '1'}]" for i in range(30))
    (folder / "config.yaml").write_text(f"task: {{name: copying}}\nmodel:\n  {bomb.replace(chr(10), chr(10) + '  ')}\n")
    text, _ = page(folder)
    assert len(text) < 200_000


def test_the_same_runs_give_the_same_page(tmp_path: Path) -> None:
    folders = standard(tmp_path)
    assert page(*folders)[0] == page(*folders)[0]


def test_the_command_to_run_again_is_quoted(tmp_path: Path) -> None:
    _, reader = page(synthetic.write_run(tmp_path / "a run; rm -rf x"))
    command = next(text for text in reader.texts if text.startswith("eigenloop train"))
    assert command == f"eigenloop train '{tmp_path}/a run; rm -rf x/config.yaml' --out NEW_FOLDER"


def test_many_long_runs_stay_small(tmp_path: Path) -> None:
    metrics = synthetic.lines(2.0, 0.002, every=1, steps=10_000)
    folders = [synthetic.write_run(tmp_path / f"run{i}", metrics=metrics) for i in range(3)]
    assert len(page(*folders)[0]) < 500_000


def test_the_folder_is_made_and_an_old_page_replaced(tmp_path: Path) -> None:
    run, out = synthetic.solved_scornn(tmp_path / "run"), tmp_path / "new" / "folder" / "report.html"
    assert report.write([run], out) == out
    first = out.read_bytes()
    out.write_text("old")
    report.write([run], out)
    assert out.read_bytes() == first
    assert [path.name for path in out.parent.iterdir()] == ["report.html"]


def test_a_failure_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, out = synthetic.solved_scornn(tmp_path / "run"), tmp_path / "report.html"
    out.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunError, match="cannot be written: No space"):
        report.write([run], out)
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "run"]


def test_errors_are_raised_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="there is no folder"):
        report.write([tmp_path / "nowhere"], tmp_path / "out" / "report.html")
    assert not (tmp_path / "out").exists()
    with pytest.raises(RunError, match="is a folder: give the file to write"):
        report.write([synthetic.solved_scornn(tmp_path / "run")], tmp_path)


@pytest.mark.parametrize(
    "metrics",
    [
        [{"kind": "train", "step": 0, "loss": 1.0}],
        [{"kind": "train", "step": 5, "loss": 0.0}, {"kind": "train", "step": 6, "loss": 0.0}],
        [{"kind": "valid", "step": 5, "loss": float("nan")}],
        [{"kind": "test", "step": 5, "bpc": -1e308}, {"kind": "test", "step": 7, "bpc": 1e308}],
        [{"kind": "train", "step": 1, "loss": 5e-324, "defect": 0.0}, {"kind": "train", "step": 2, "loss": 1e300}],
        [{"kind": "train", "step": 10**30, "loss": 1.0, "seconds": 1e-300}],
        [{"kind": "train", "step": 1, "loss": 1e-200, "defect": 1e-40}, {"kind": "valid", "step": 1, "loss": 2.0}],
    ],
)
@pytest.mark.parametrize("end", [None, synthetic.summary(baseline={"loss": 1e-300, "bpc": float("inf")}, best=None)])
def test_extreme_numbers(tmp_path: Path, metrics: list[dict[str, object]], end: dict[str, object] | None) -> None:
    text, reader = page(synthetic.write_run(tmp_path / "run", metrics=metrics, end=end))
    for block in reader.blocks:
        strict(block)
    markup = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r'(?:\b[xydr][12]?|cx|cy|points|place)="[^"]*(?:nan|inf)', markup)
