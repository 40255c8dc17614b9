"""The four papers, in the order in which they appeared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """How a paper is cited; `name` is how experiments call it."""

    name: str
    authors: str
    title: str
    year: int


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
