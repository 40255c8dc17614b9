"""One verdict for each sentence of a paper, however many comparisons of rows it stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from eigenloop.comparison.claims import Finding
from eigenloop.comparison.pairs import model
from eigenloop.experiments import Experiment

Answer = Literal["yes", "no", "in part", "open"]
_FOR, _AGAINST = ("yes", "supported"), ("no", "contradicted")


@dataclass(frozen=True)
class Score:
    """A sentence of a paper about a table or figure, with the findings of all comparisons that it stands for."""

    experiment: Experiment
    said: str
    findings: tuple[Finding, ...]

    @property
    def holding(self) -> int:
        """How many comparisons agree with the paper."""
        return sum(finding.verdict in _FOR for finding in self.findings)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The comparisons that contradict the paper."""
        return tuple(finding for finding in self.findings if finding.verdict in _AGAINST)

    @property
    def answer(self) -> Answer:
        """Whether the sentence holds: in every comparison, in some, or in none of those that are decided."""
        if self.failing:
            return "in part" if self.holding else "no"
        return "yes" if self.holding == len(self.findings) else "open"

    @property
    def decided(self) -> bool:
        """Whether the answer is yes or no without limits."""
        return self.answer in ("yes", "no") and not self.limits

    @property
    def listed(self) -> bool:
        """Whether the sentence is shown in the table of claims."""
        return self.was_run and not self.expected

    @property
    def was_run(self) -> bool:
        """Whether all rows of some comparison were run."""
        return any(not finding.not_run for finding in self.findings)

    @property
    def expected(self) -> bool:
        """Whether the sentence holds and is about computed numbers: no training is involved, so it has to hold."""
        return all(finding.expected for finding in self.findings)

    @cached_property
    def limits(self) -> tuple[str, ...]:
        """The limits of all comparisons that are not undecided, see `Finding.limits`."""
        counting = [finding for finding in self.findings if finding.verdict != "undecided"]
        return tuple(dict.fromkeys(limit for finding in counting for limit in finding.limits))

    @cached_property
    def shown(self) -> Finding:
        """The comparison that is shown: the one that fails most clearly, or else the closest that keeps it open.

        If all hold, it is the one that holds most narrowly.
        """
        if self.failing:
            return max(self.failing, key=_margin)
        undecided = [finding for finding in self.findings if finding.verdict == "undecided" and not finding.not_run]
        holding = [finding for finding in self.findings if finding.verdict in _FOR]
        return min(undecided or holding or self.findings, key=_margin)

    @property
    def rows(self) -> list[str]:
        """The rows that the sentence is about; a model at two sequence lengths is named once."""
        return list(dict.fromkeys(model(finding.line.row.label) for finding in self.findings))

    @property
    def seconds(self) -> float:
        """The total time of the runs behind the comparisons."""
        runs = {
            (side.line.row_name, run.seed): run.seconds
            for finding in self.findings
            for side in finding.sides
            for run in side.outcome.runs
        }
        return sum(runs.values())


def scores(findings: Sequence[Finding]) -> tuple[Score, ...]:
    """Group the findings by sentence, in the order of the papers' tables."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        said = finding.claim.said or finding.line.row.said or finding.line.row.label
        groups.setdefault((finding.line.experiment.name, said), []).append(finding)
    return tuple(Score(own[0].line.experiment, said, tuple(own)) for (_, said), own in groups.items())


def _margin(finding: Finding) -> float:
    """Return |log(a / b)| of the two numbers that are compared; 0 if one is missing or not positive."""
    quantities = [side.quantity for side in finding.sides]
    means = [quantity.mean for quantity in quantities if quantity is not None]
    if finding.other is None:
        bound = finding.claim.below if finding.claim.below is not None else finding.claim.above
        means += [] if bound is None else [finding.line.bound(bound)]
    if len(means) < 2 or min(means) <= 0:
        return 0.0
    return abs(math.log(means[0] / means[1]))
