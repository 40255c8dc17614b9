"""The built-in entries of each registry, one line each: name, title, import target, page, description.

Lists, tests, benchmarks and pages that cover all entries of a kind read these tables.
"""

from __future__ import annotations

from eigenloop.registry.entry import Entry


def _matrix(name: str, target: str, page: str, line: str) -> Entry:
    """Make the entry of a matrix; its title is the name of its class."""
    return Entry(name, target.partition(":")[2], line, f"matrices/{page}.md", f"eigenloop.matrices.{target}")


def _activation(name: str, title: str, line: str) -> Entry:
    return Entry(name, title, line, "activations.md", f"eigenloop.recurrence.activations:{name.upper()}")


def _model(name: str, title: str, target: str, page: str, line: str) -> Entry:
    return Entry(name, title, line, f"{page}.md", f"eigenloop.recipes.{target}")


def _task(name: str, title: str, target: str, line: str, page: str = "training") -> Entry:
    return Entry(name, title, line, f"{page}.md", f"eigenloop.tasks:{target}")


def _optimizer(name: str, target: str, line: str, *options: str) -> Entry:
    """Make the entry of an optimizer; its title is the name of its class, `options` are those a config may set."""
    return Entry(name, target.partition(":")[2], line, "training.md", target, options)


def _analysis(name: str, title: str, line: str) -> Entry:
    return Entry(name, title, line, "analysis.md", f"eigenloop.analysis:{name}")


MATRICES = (
    _matrix("free", "free:Free", "free", "All matrices."),
    _matrix("cayley", "cayley:ScaledCayley", "cayley", "Orthogonal: W = (I + A)^-1 (I - A) D, A skew."),
    _matrix("neumann", "neumann:NeumannCayley", "cayley", "Orthogonal: the same, the inverse by a Neumann series."),
    _matrix("exponential", "exponential:Exponential", "exponential", "Orthogonal: W = B exp(A), A skew; B may move."),
    _matrix("schur", "schur:Schur", "schur", "W = P (Lambda + T) P^T: chosen eigenvalues, non-normal."),
    _matrix("disc", "unit_disc:UnitDisc", "long-short", "Spectral radius at most 1."),
    _matrix(
        "longshort", "long_short:LongShort", "long-short", "An orthogonal part, and one of spectral radius at most 1."
    ),
    _matrix("bjorck", "bjorck:Bjorck", "bjorck", "Orthogonal: what a free matrix iterates to."),
    _matrix("orthogonal", "orthogonal:Orthogonal", "projected", "Orthogonal: W itself, kept so by the optimizer."),
    _matrix("unitary", "orthogonal:Unitary", "projected", "Unitary, complex: W itself, kept so by the optimizer."),
    _matrix("householder", "householder:Householder", "householder", "Orthogonal: a product of k reflections."),
    _matrix("svd", "householder_svd:HouseholderSVD", "householder", "Singular values within a margin of 1."),
    _matrix("givens", "givens:Givens", "givens", "Orthogonal or unitary: layers of plane rotations."),
)

ACTIVATIONS = (
    _activation(
        "modrelu", "modReLU", "sign(z) max(|z| + b, 0) with a trained threshold b; keeps the phase of a complex z."
    ),
    _activation("relu", "ReLU", "max(z, 0)."),
    _activation("leaky_relu", "leaky ReLU", "z, times `negative_slope` below zero."),
    _activation("tanh", "tanh", "tanh(z)."),
    _activation("identity", "identity", "z: a linear recurrence."),
)

MODELS = (
    _model("rnn", "RNN", "simple:rnn", "matrices/free", "modReLU RNN, free W, Glorot start"),
    _model("rnn-orth", "RNN-orth", "simple:rnn_orth", "matrices/free", "modReLU RNN, W orthogonal only at the start"),
    _model(
        "lstm", "LSTM", "gated:lstm", "matrices/free", "LSTM, torch's equations, started as torch's or as TensorFlow's"
    ),
    _model("gru", "GRU", "gated:gru", "matrices/free", "GRU, torch's equations, started as torch's or as TensorFlow's"),
    _model("scornn", "scoRNN", "simple:scornn", "matrices/cayley", "scaled Cayley (Helfrich et al. 2018)"),
    _model("exprnn", "expRNN", "simple:exprnn", "matrices/exponential", "exponential map (Lezcano-Casado et al. 2019)"),
    _model(
        "dtriv",
        "dtriv",
        "simple:dtriv",
        "matrices/exponential",
        "exponential map with a moving base (Lezcano-Casado 2019)",
    ),
    _model(
        "projunn",
        "projUNN",
        "simple:projunn",
        "matrices/projected",
        "W itself, kept orthogonal by `optim.ProjUNN` (Kiani et al. 2022)",
    ),
    _model("ornn", "oRNN", "simple:ornn", "matrices/householder", "Householder reflections (Mhammedi et al. 2017)"),
    _model(
        "spectralrnn",
        "Spectral RNN",
        "simple:spectralrnn",
        "matrices/householder",
        "U Sigma V^T, sigma near 1 (Zhang et al. 2018)",
    ),
    _model("eurnn", "EURNN", "simple:eurnn", "matrices/givens", "rotation layers, complex (Jing et al. 2017)"),
    _model(
        "urnn-full",
        "full-capacity uRNN",
        "simple:urnn_full",
        "matrices/projected",
        "unitary, with `optim.UnitaryCayley` (Wisdom et al. 2016)",
    ),
    _model("nnrnn", "nnRNN", "simple:nnrnn", "matrices/schur", "Schur form (Kerg et al. 2019)"),
    _model("enrnn", "ENRNN", "simple:enrnn", "matrices/long-short", "long and short-term parts (Helfrich, Ye 2020)"),
    _model("ncgru", "NC-GRU", "gated:ncgru", "matrices/cayley", "orthogonal GRU (Mucllari et al. 2022)"),
    _model("goru", "GORU", "gated:goru", "matrices/givens", "rotation layers in a GRU (Jing et al. 2019)"),
    _model(
        "fastgrnn",
        "FastGRNN",
        "fastgrnn:fastgrnn",
        "layers",
        "one product for gate and candidate (Kusupati et al. 2018)",
    ),
    _model("qornn", "QORNN", "quantized:qornn", "quantization", "orthogonal in few bits (Foucault et al. 2024)"),
)

TASKS = (
    _task("adding", "Adding", "Adding", "Add the two marked numbers of a long list."),
    _task("copying", "Copying", "Copying", "Repeat ten symbols after `delay` blanks."),
    _task("denoise", "Denoising", "Denoise", "Pick ten symbols out of T + 9 steps of noise and repeat them."),
    _task("parenthesis", "Parenthesis", "Parenthesis", "Count the open brackets of each type, at every step."),
    _task("smnist", "Sequential MNIST", "SequentialMNIST", "Name the digit after 784 steps of one pixel, row by row."),
    _task(
        "pmnist", "Permuted MNIST", "PermutedMNIST", "Name the digit after 784 steps of one pixel, in a random order."
    ),
    _task(
        "ptb-char",
        "Penn Treebank, characters",
        "PTBCharacters",
        "Predict the next of 50 characters: 49, and the end of a line.",
    ),
    _task(
        "ptb-word",
        "Penn Treebank, words",
        "PTBWords",
        "Predict the next of 10,000 words, one of which is the end of a line.",
    ),
    _task("timit", "TIMIT", "TIMIT", "Predict each frame of 129 log-powers (dB) of speech from those before."),
    _task(
        "sequences",
        "Own sequences",
        "Sequences",
        "Learn from your own sequences, read from a file or folder.",
        "data",
    ),
)

OPTIMIZERS = (
    _optimizer("adam", "torch.optim:Adam", "Adam (Kingma, Ba 2015)", "betas", "eps", "weight_decay", "amsgrad"),
    _optimizer("adamw", "torch.optim:AdamW", "Adam with decoupled weight decay", "betas", "eps", "weight_decay"),
    _optimizer(
        "rmsprop",
        "torch.optim:RMSprop",
        "RMSprop as torch has it",
        "alpha",
        "eps",
        "weight_decay",
        "momentum",
        "centered",
    ),
    _optimizer(
        "tf-rmsprop",
        "eigenloop.optim:TFRMSprop",
        "RMSprop as TensorFlow 1 has it",
        "decay",
        "eps",
        "weight_decay",
        "momentum",
    ),
    _optimizer(
        "sgd", "torch.optim:SGD", "gradient descent, with momentum", "momentum", "dampening", "weight_decay", "nesterov"
    ),
    _optimizer(
        "adagrad", "torch.optim:Adagrad", "Adagrad", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"
    ),
    _optimizer(
        "projunn",
        "eigenloop.optim:ProjUNN",
        "low-rank steps that keep W orthogonal, for model projunn (Kiani et al. 2022)",
        "rank",
        "sampler",
        "variant",
        "base",
        "divider",
        "tangent",
        "alpha",
        "eps",
        "weight_decay",
    ),
    _optimizer(
        "unitary-cayley",
        "eigenloop.optim:UnitaryCayley",
        "Cayley steps that keep W unitary, for model urnn-full (Wisdom et al. 2016)",
        "base",
        "normalise",
        "alpha",
        "eps",
        "weight_decay",
    ),
)

ANALYSES = (
    _analysis(
        "conditioning",
        "Conditioning in k bits",
        "QORNN figure 1: what k bits do to an orthogonal matrix, and its bounds (3) and (4).",
    ),
    _analysis(
        "fisher", "Fisher memory", "nnRNN figure 1c and Table 6: Fisher memory curves, exactly and in double precision."
    ),
    _analysis(
        "transients",
        "Transients",
        "nnRNN figure 1b: how a triangular matrix amplifies a state before the state decays.",
    ),
    _analysis(
        "sensitivity",
        "Sensitivity of the Schur form",
        "nnRNN SM section C: what a computed Schur decomposition makes of Grcar's matrix and of nnRNN's own.",
    ),
    _analysis(
        "gradients", "Reach of gradients", "ENRNN figures 4 and 5: how far the gradients of trained networks reach."
    ),
    _analysis("schur", "Learned Schur form", "nnRNN figures 3 and 5: the Schur form that a network has learned."),
    _analysis(
        "neumann",
        "Neumann inverse",
        "NC-GRU figures 5, 6 and 8: the inverse by a Neumann series, beside the exact one and the published code.",
    ),
    _analysis(
        "bounds",
        "Bounds",
        "Bounds of NC-GRU, ENRNN and nnRNN against the bounded quantities: how often violated, and how tight.",
    ),
)
