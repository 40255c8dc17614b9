"""Your own sequences: read from files, described, split and prepared for a network.

data = read("watch.npz")                              # or .npy, .csv, .parquet, .ts, a folder of .csv or .wav
print(describe(data))                                 # how the file was interpreted
parts = split(data, seed=0)                           # a group, such as a person, is in one split only
preparation = prepare(data, parts["train"])           # from the training split only
train = windows(parts["train"], window=128, stride=64)
first = batch(data, train[:32], preparation, kind_of(data))
"""

from __future__ import annotations

from eigenloop.tasks.sequences.arrays import from_arrays
from eigenloop.tasks.sequences.batches import batch, class_weights
from eigenloop.tasks.sequences.data import PARTS, Origin, SequenceData
from eigenloop.tasks.sequences.describing import describe
from eigenloop.tasks.sequences.formats import FORMATS, read
from eigenloop.tasks.sequences.joining import join, recoded
from eigenloop.tasks.sequences.kinds import Kind, as_kind, kind_of
from eigenloop.tasks.sequences.logmel import LogMel
from eigenloop.tasks.sequences.options import Columns, Options
from eigenloop.tasks.sequences.outcome import Outcome
from eigenloop.tasks.sequences.pieces import Pieces, blocks, whole, windows
from eigenloop.tasks.sequences.preparing import Missing, Preparation, prepare
from eigenloop.tasks.sequences.scanning import Statistics, statistics
from eigenloop.tasks.sequences.splitting import folds, split
from eigenloop.tasks.sequences.times import resampled

__all__ = [
    "FORMATS",
    "PARTS",
    "Columns",
    "Kind",
    "LogMel",
    "Missing",
    "Options",
    "Origin",
    "Outcome",
    "Pieces",
    "Preparation",
    "SequenceData",
    "Statistics",
    "as_kind",
    "batch",
    "blocks",
    "class_weights",
    "describe",
    "folds",
    "from_arrays",
    "join",
    "kind_of",
    "prepare",
    "read",
    "recoded",
    "resampled",
    "split",
    "statistics",
    "whole",
    "windows",
]
