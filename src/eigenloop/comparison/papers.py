"""The four papers in order of publication, and their results that are not among the experiments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A citation; `name` is the one that experiments use. A paper of a user's experiments has only a name.

    Attributes:
        about: which code was released with the paper, and what the names of its rows mean.
    """

    name: str
    authors: str = ""
    title: str = ""
    year: int = 0
    about: str = ""


#: The papers whose experiments come with the library.
PAPERS = (
    Paper(
        "nnRNN",
        "Kerg, Goyette, Puelma Touzel, Gidel, Vorontsov, Bengio and Lajoie",
        "Non-normal Recurrent Neural Network (nnRNN): learning long time dependencies while improving expressivity "
        "with transient dynamics",
        2019,
        "The released code is `github.com/nnRNN/nnRNN_release`. A number after the name of a model is its hidden size. "
        "W is P Theta Pᵀ with P orthogonal; Theta has 2 x 2 blocks, gamma times a rotation by theta, on its "
        "diagonal and a strictly lower triangle, which has one entry inside each block as well. The paper writes T for "
        "this triangle as well as for the length of a delay. P starts from random rotations, with angles up to pi "
        "(Henaff's rule) or up to 1 (Cayley's rule). "
        "In Figure 1 and Table 6 a triangular matrix has d on its diagonal, alpha below it and beta in the rest of the "
        "triangle; J tot is the sum of its Fisher memory curve.",
    ),
    Paper(
        "ENRNN",
        "Helfrich and Ye",
        "Eigenvalue Normalized Recurrent Neural Networks for Short Term Memory",
        2020,
        "The released code, `github.com/KHelfrich1/ENRNN`, has the adding and the copying problem. 310 / 720 are 310 "
        "units whose matrix is orthogonal (long-term, with entries of -1 in a diagonal matrix D) and 720 whose matrix "
        "is divided by its spectral radius (short-term).",
    ),
    Paper(
        "NC-GRU",
        "Mucllari, Zadorozhnyy, Pospisil, Nguyen and Ye",
        "Orthogonal Gated Recurrent Unit with Neumann-Cayley Transformation",
        2022,
        'The repository that the paper names, `github.com/Edison1994/NC-GRU`, is empty. "The released code" is '
        "`github.com/emucllari1/NC-GRU`, that of the first author, which a search found; that the published numbers "
        "were made with it is likely and not known. Uc, Ur and Uu are the recurrent matrices of the candidate, the "
        "reset and the update gate; those in brackets are orthogonal, (I + A)^-1 (I - A) D with A skew-symmetric. "
        "Neumann 2 is the Neumann series up to the second power, with which (I + A)^-1 is updated.",
    ),
    Paper(
        "QORNN",
        "Foucault, Mamalet and Malgouyres",
        "Quantized Approximately Orthogonal Recurrent Neural Networks",
        2024,
        "The paper says that its code is available, at an address that is blanked out; we found none. k is the number "
        "of bits of a weight; (FP) is a network that is not rounded. PTQ: rounded after training. STE: trained through "
        "the rounding, as if its derivative were 1. W is kept near the orthogonal matrices by projection after each "
        "step (projUNN), by Bjorck's iteration (Bjorck), or by a penalty (pen).",
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
