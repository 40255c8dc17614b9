"""Small configurations for tests, and what two runs must have in common."""

from pathlib import Path
from typing import Any

import torch

from eigenloop.runs import read_metrics, read_summary
from eigenloop.training import Config, load_run, make_config
from eigenloop.training.packing import load_tensors


def small(task: dict[str, Any] | None = None, model: dict[str, Any] | None = None, **sections: Any) -> Config:
    """A configuration that trains in a moment; sections override it."""
    task = {"name": "copying", "delay": 5, "valid_size": 8, "test_size": 8, **(task or {})}
    model = {"name": "scornn", "hidden_size": 8, **(model or {})}
    if task["name"] not in ("copying", "adding", "denoise", "parenthesis"):
        task = {k: v for k, v in task.items() if k not in ("delay", "valid_size", "test_size")}
    elif task["name"] != "copying":
        task = {k: v for k, v in task.items() if k != "delay"} | {"length": task.get("length", 6)}
    training = {"steps": 6, "batch_size": 6, "eval_every": 3, "log_every": 2, **sections.pop("training", {})}
    if "epochs" in training:
        training.pop("steps")
    return make_config({"task": task, "model": model, "training": training, **sections})


def metrics_of(run: Path) -> list[dict[str, Any]]:
    """The lines of metrics without their times."""
    found = [line.model_dump(exclude={"seconds"}) for line in read_metrics(run)]
    return [line.pop("values") | line for line in found]


def weights(run: Path) -> dict[str, torch.Tensor]:
    """The parameters at the end of a run."""
    return {name: parameter.detach() for name, parameter in load_run(run, "last")[0].named_parameters()}


def weights_of(run: Path, step: int) -> dict[str, bytes]:
    """The weights of a checkpoint, bit by bit."""
    tensors = load_tensors(run / "checkpoints" / f"step-{step}" / "model.safetensors")
    return {name: tensor.contiguous().numpy().tobytes() for name, tensor in tensors.items()}


def summary_of(run: Path) -> dict[str, Any]:
    """The summary without times."""
    summary = read_summary(run)
    assert summary is not None
    return summary.model_dump(exclude={"seconds", "started"})


def text_folder(folder: Path) -> Path:
    """A data folder with a little text in Penn Treebank's character format."""
    (folder / "ptb").mkdir(parents=True)
    lines = ["a_cat_sat", "on_the_mat_and_did_not_like_what_it_saw", "so", "it_left_again_for_the_garden"] * 12
    content = "".join(f"{character} " for line in lines for character in (*line, "\n"))
    for part in ("train", "valid", "test"):
        (folder / "ptb" / f"ptb.char.{part}.txt").write_text(content)
    return folder
