"""The four papers in order of publication, and their results that are not among the experiments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A citation; `name` is the one that experiments use. A paper of a user's experiments has only a name."""

    name: str
    authors: str = ""
    title: str = ""
    year: int = 0


#: The papers whose experiments come with the library.
PAPERS = (
    Paper(
        "nnRNN",
        "Kerg, Goyette, Puelma Touzel, Gidel, Vorontsov, Bengio and Lajoie",
        "Non-normal Recurrent Neural Network (nnRNN): learning long time dependencies while improving expressivity "
        "with transient dynamics",
        2019,
    ),
    Paper(
        "ENRNN",
        "Helfrich and Ye",
        "Eigenvalue Normalized Recurrent Neural Networks for Short Term Memory",
        2020,
    ),
    Paper(
        "NC-GRU",
        "Mucllari, Zadorozhnyy, Pospisil, Nguyen and Ye",
        "Orthogonal Gated Recurrent Unit with Neumann-Cayley Transformation",
        2022,
    ),
    Paper(
        "QORNN",
        "Foucault, Mamalet and Malgouyres",
        "Quantized Approximately Orthogonal Recurrent Neural Networks",
        2024,
    ),
)


def with_others(names: Iterable[str]) -> list[Paper]:
    """Return the four papers, followed by those of a user's experiments among `names`."""
    ours = [paper.name for paper in PAPERS]
    return [*PAPERS, *(Paper(name) for name in sorted(set(names)) if name not in ours)]


#: Published results that have no row in the experiments, and where to find them.
WITHOUT_A_ROW = (
    "Published results without a row: nnRNN's accuracies on characters (supplement, Table 4; quoted in notes), its "
    "Figures 3b, 3c and 5 and the angles in Figure 3a (`eigenloop analyse schur` draws them from a run), and that its "
    "lead over expRNN grows with T = 300 and with equal units; ENRNN's SegSNR, STOI and PESQ (`eigenloop eval RUN "
    "--speech`) and its validation columns (quoted in notes); NC-GRU's Figure 6, seconds per epoch as bars "
    "(`eigenloop analyse neumann` times the same steps); of QORNN most of the bitwidths, the other sizes of "
    "Figure 6, the singular values of trained matrices in Figures 2c, 3c, 5c and, but for one, 4c (every quantized run "
    "logs them as `singular_ratio`), and the state of the art on permuted MNIST with 3 bits that its contributions "
    "claim (section 5.3 says 5 bits and more). Sentences without a number to judge them by have a row but no verdict."
)
