"""A network that remembers for a thousand steps beside one that does not: ``make demo``.

A scoRNN of 190 units learns to repeat ten symbols after 1,000 blanks until its loss is under a tenth of what guessing
reaches; an LSTM with as many parameters gets the same time, at ten times its published learning rate, without which it
would not come down to the baseline in that time. Both become one page, ``demo/report.html``.

    python examples/demo.py --delay 200 --out demo
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from eigenloop import report
from eigenloop.cli.display import display_for
from eigenloop.training import DivergedError, RunError, make_config, train

#: A tenth of the baseline counts as solved.
SOLVED = 0.1


def settings(model: str, delay: int, seed: int, lr: float, **training: Any) -> dict[str, Any]:
    """Return what the papers set for this model on copying, with an evaluation every 50 steps."""
    return {
        "optimizer": {"lr": lr},
        "task": {"name": "copying", "delay": delay, "valid_size": 500},
        "model": {"name": model},
        "training": {
            "batch_size": 20,
            "eval_every": 50,
            "eval_batch_size": 100,
            "log_every": 10,
            "seed": seed,
            **training,
        },
    }


def free(folder: Path) -> Path:
    """Return the folder, or the first of folder-2, folder-3, ... that is not there."""
    number, unused = 1, folder
    while unused.exists():
        number += 1
        unused = folder.with_name(f"{folder.name}-{number}")
    return unused


def main() -> None:
    """Train both, one after the other, and write the page."""
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--delay", type=int, default=1000)
    usage.add_argument("--seed", type=int, default=0)
    usage.add_argument("--out", type=Path, default=Path("demo"))
    options = usage.parse_args()
    out = free(options.out)

    with closing(display_for(as_json=False)) as display:
        config = make_config(settings("scornn", options.delay, options.seed, lr=1e-3, until=SOLVED))
        remembers = train(config, out / "scornn", display)
    print()
    with closing(display_for(as_json=False)) as display:
        # 68 units have 22,381 parameters, the scoRNN 21,764.
        limit = {"max_seconds": remembers["seconds"], "steps": 10**6}
        config = make_config(settings("lstm", options.delay, options.seed, lr=1e-2, **limit))
        forgets = train(config, out / "lstm", display)

    print()
    for summary in (remembers, forgets):
        loss, baseline = summary["test"]["loss"], summary["baseline"]["loss"]
        print(
            f"{summary['model']}: loss {loss:.4f} (baseline {baseline:.4f}), "
            f"{summary['test']['accuracy']:.0%} of the symbols recalled, after {summary['seconds']:.0f} s"
        )
    print(f"open {report.write([out / 'scornn', out / 'lstm'], out / 'report.html')} in a browser")


if __name__ == "__main__":
    try:
        main()
    except (RunError, DivergedError) as error:
        sys.exit(f"demo: {error}")
