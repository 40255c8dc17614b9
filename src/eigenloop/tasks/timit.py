"""Speech: prediction of the next frame of TIMIT spectrograms (Wisdom et al. 2016, section 5.3; ENRNN; expRNN)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from eigenloop.tasks.base import Batch, Task
from eigenloop.tasks.losses import squared_error, valid_mask, valid_steps
from eigenloop.tasks.options import at_least
from eigenloop.tasks.order import batches_in, items_of
from eigenloop.tasks.speech.corpus import Corpus, find_corpus
from eigenloop.tasks.speech.quality import mean_scores
from eigenloop.tasks.speech.resynthesis import resynthesis
from eigenloop.tasks.speech.spectrogram import BINS, SILENCE, decibels, stft
from eigenloop.tasks.tally import Tally


@dataclass(frozen=True, kw_only=True)
class TIMIT(Task):
    """Predict each frame of 129 log-powers (dB) of speech from those before: mean squared error over valid frames.

    The full corpus has 3,696 training utterances, 400 of the development speakers (validation) and 192 of the core
    test. Without it the free sample is used, split by dialect region (1-6, 7, 8): 96, 16 and 16 utterances. All of its
    speakers are training speakers of the corpus, so **no number from the sample can be compared with a published one**;
    the property `corpus` says which of the two is used.

    Args:
        data_dir: the folder that contains the corpus, usually in a subfolder ``timit``.
        shuffle: draw a new order of the utterances for every epoch.
        published: also count the prediction after the last frame of an utterance, with silence (-50 dB) as its target,
            as Wisdom et al. do.
    """

    name: ClassVar[str] = "timit"

    data_dir: Path | None = None
    shuffle: bool = True
    published: bool = False

    @property
    def input_size(self) -> int:
        """129, the frequencies of a frame."""
        return BINS

    @property
    def output_size(self) -> int:
        """129, the frequencies of a frame."""
        return BINS

    @property
    def corpus(self) -> Literal["full", "sample"]:
        """Which corpus was found: ``"full"`` or ``"sample"``."""
        return self._corpus.kind

    @functools.cached_property
    def _corpus(self) -> Corpus:
        return find_corpus(self.data_dir)

    @functools.cached_property
    def _features(self) -> Mapping[str, tuple[Tensor, ...]]:
        return {
            part: tuple(torch.from_numpy(decibels(stft(utterance.signal()))) for utterance in utterances)
            for part, utterances in self._corpus.parts.items()
        }

    def prepare(self) -> None:
        """Read the utterances of all splits."""
        _ = self._features

    def steps_per_epoch(self, batch_size: int) -> int:
        """Return the number of batches in an epoch."""
        return batches_in(len(self._corpus.parts["train"]), batch_size)

    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        """Return the utterances of a training step."""
        train = self._features["train"]
        return self._batch([train[item] for item in items_of(step, batch_size, len(train), self.shuffle, seed)])

    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Return the batches of a split in the order of the corpus: by region, speaker and sentence."""
        features = self._features[self.checked_split(split, "train")]
        return (self._batch(features[start : start + batch_size]) for start in range(0, len(features), batch_size))

    def _batch(self, features: Sequence[Tensor]) -> Batch:
        lengths = torch.tensor([len(frames) - (not self.published) for frames in features])
        padded = torch.full((int(lengths.max()) + 1, len(features), BINS), SILENCE)
        for column, frames in enumerate(features):
            padded[: len(frames), column] = frames
        return Batch(padded[:-1], padded[1:], lengths=lengths)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of the squared errors (dB^2) over valid frames."""
        return squared_error(outputs, batch.targets, valid_mask(batch))

    def terms(self, batch: Batch) -> float:
        """Return 129 times the number of valid frames."""
        return valid_steps(batch) * BINS

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return `padded_mse`: the same sum divided by all frames including padding, as in Wisdom et al. and ENRNN.

        It depends on the padding: here to the longest utterance of the batch, in Wisdom's code to the longest of all,
        which makes it smaller.
        """
        return Tally(padded_mse=(float(self.loss(outputs.detach(), batch)), batch.steps * batch.size * BINS))

    def baseline(self) -> dict[str, float]:
        """Return the loss of always predicting the mean training frame: the variance of the training targets."""
        total, squares, count = torch.zeros(BINS).double(), torch.zeros(BINS).double(), 0
        for frames in self._features["train"]:
            targets = self._targets(frames).double()
            total, squares, count = total + targets.sum(0), squares + targets.square().sum(0), count + len(targets)
        return {"loss": float((squares / count - (total / count).square()).mean())}

    def persistence(self, split: str = "valid") -> float:
        """Return the mean squared error of predicting that each frame equals the previous one."""
        total, count = 0.0, 0
        for frames in self._features[self.checked_split(split, "train")]:
            targets = self._targets(frames)
            total += float(squared_error(frames[: len(targets)].double(), targets.double()))
            count += targets.numel()
        return total / count

    def _targets(self, frames: Tensor) -> Tensor:
        after = frames[1:]
        return torch.cat([after, torch.full_like(frames[:1], SILENCE)]) if self.published else after

    def quality(
        self, net: Callable[[Tensor], tuple[Tensor, Any]], split: str = "test", limit: int | None = None
    ) -> dict[str, float]:
        """Resynthesise speech from predicted frames, with the phases of the true ones, and return its quality.

        The first frame is the true one. Each measure is a mean over utterances: `segsnr` (dB), `stoi`, `pesq`; the last
        two only if their libraries are installed (see `missing_libraries`), with the number of utterances for which
        they are not defined as `stoi_skipped` and `pesq_skipped`.

        Args:
            net: maps (T, 1, 129) to a tuple whose first entry is outputs of that shape; a module should be in
                evaluation mode.
            split: ``train``, ``valid`` or ``test``.
            limit: use only this many utterances, the first ones.
        """
        if limit is not None:
            at_least("limit", limit, 1)
        signals = (utterance.signal() for utterance in self._corpus.parts[self.checked_split(split, "train")][:limit])
        return mean_scores((signal, resynthesis(net, signal)) for signal in signals)
