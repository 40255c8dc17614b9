"""Every file of an experiment: it loads, every row of every budget can be run, and networks have the published size."""

import inspect
import socket
from fractions import Fraction
from typing import Any

import pytest

from eigenloop import analysis
from eigenloop.analysis.fisher import PUBLISHED
from eigenloop.experiments import library
from eigenloop.experiments.plan import LEARNED, Planned, planned
from eigenloop.experiments.schema import BUDGETS, Experiment
from eigenloop.tasks import TASKS
from eigenloop.tasks.ptb import PTBCharacters, PTBWords
from eigenloop.training import Config, ConfigError, make_config
from eigenloop.training.network import build_network
from eigenloop.training.settings.config import reads_files
from eigenloop.training.summary import count_parameters

NAMES = library.names()
TRAINED = [name for name in NAMES if library.load(name).analysis is None]
COMPUTED = [name for name in NAMES if library.load(name).analysis is not None]
#: Larger networks take seconds to start; their parameters are counted in small ones.
LARGEST = 600


def runs_of(experiment: Experiment) -> list[Planned]:
    """One run for each row and budget, also where a budget leaves the row out."""
    everywhere = {budget: {"settings": experiment.budgets[budget].settings} for budget in BUDGETS}
    rows = {
        name: row.model_copy(
            update={"budgets": {b: own.model_copy(update={"seeds": (0,)}) for b, own in row.budgets.items()}}
        )
        for name, row in experiment.rows.items()
    }
    whole = Experiment(**{**experiment.model_dump(), "budgets": everywhere, "rows": rows})
    return [run for budget in BUDGETS for run in planned(whole, budget)]


@pytest.fixture
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reaches for files or the network fails; texts have as many symbols as the published ones."""

    def refused(*_: object) -> None:
        raise AssertionError("a configuration was made with data")

    monkeypatch.setattr(socket, "create_connection", refused)
    monkeypatch.setattr("eigenloop.tasks.files.Source.content", refused)
    monkeypatch.setattr("eigenloop.tasks.timit.find_corpus", refused)
    for kind, symbols in ((PTBCharacters, 50), (PTBWords, 10_000)):
        for size in ("input_size", "output_size"):
            monkeypatch.setattr(kind, size, symbols)


def test_all_published_tables_and_figures_are_there() -> None:
    expected = {
        "qornn": ["fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig8", "fig10", "fig11", "fig14", "fig16"],
        "enrnn": ["fig1", "fig2", "fig4", "fig6", "table1", "table2", "theorem"],
        "ncgru": ["table1", "table2", "table3", "table4", "table5", "table6", "fig5", "fig7", "fig8", "theorems"],
        "nnrnn": ["fig1", "propositions", "readme", "table1", "table2", "table3", "table6"],
    }
    assert sorted(NAMES) == sorted(f"{paper}-{item}" for paper, items in expected.items() for item in items)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_about_what_its_name_says(name: str) -> None:
    experiment = library.load(name)
    assert experiment.name == name
    assert name.startswith(experiment.paper.lower().replace("-", ""))
    assert experiment.differences
    for row in experiment.rows.values():
        if row.published is None and row.tuned is None:
            assert row.said or (experiment.analysis is not None and (row.note or "").startswith("Not in the paper"))
        if row.claim:
            assert row.said, "a claim is what somebody said"


@pytest.mark.usefixtures("_no_data")
@pytest.mark.parametrize("name", TRAINED)
def test_every_row_of_every_budget_is_a_configuration(name: str) -> None:
    experiment = library.load(name)
    for run in runs_of(experiment):
        config = run.config()
        metrics = {"loss", config.task.metric, *_further_metrics(config), *(LEARNED if run.row.trained_as else ())}
        assert (run.row.metric or experiment.metric) in metrics
        if run.row.metric is None and experiment.metric == config.task.metric:
            assert experiment.higher_is_better == config.task.higher_is_better
        assert make_config(config.as_dict()) == config


@pytest.mark.usefixtures("_no_data")
def test_our_settings_keep_task_size_and_length() -> None:
    """RESULTS.md says so of every row with settings of ours."""
    compared = 0
    for experiment in map(library.load, TRAINED):
        for run in (run for run in runs_of(experiment) if run.budget == "full" and run.row.tuned is not None):
            assert run.row.tuned is not None
            paper = next(
                each
                for each in runs_of(experiment)
                if (each.row_name, each.budget, each.seed) == (run.row.tuned.row, "full", run.seed)
            )
            ours, theirs = run.config().as_dict(), paper.config().as_dict()
            assert ours != theirs
            assert [ours[part] for part in ("task", "training")] == [theirs[part] for part in ("task", "training")]
            sizes = ("name", "hidden_size", "embedding_size")
            assert [ours["model"][key] for key in sizes] == [theirs["model"][key] for key in sizes]
            compared += 1
    assert compared


def _further_metrics(config: Config) -> set[str]:
    return {"timit": {"padded_mse"}, "ptb-char": {"accuracy"}, "copying": {"accuracy"}}.get(config.task.name, set())


@pytest.mark.usefixtures("_no_data")
@pytest.mark.parametrize("name", TRAINED)
def test_networks_have_as_many_parameters_as_published(name: str) -> None:
    full = [run for run in runs_of(library.load(name)) if run.budget == "full" and run.row.parameters is not None]
    for run in full:
        config = run.config()
        size = config.network.hidden_size
        assert isinstance(size, int), "the papers count parameters of one layer only"
        large = size > LARGEST and "short" not in run.settings["model"]
        found = _extrapolated(run, size) if large else count_parameters(build_network(config))
        gates = {"lstm": 4, "gru": 3}.get(config.network.name, 0)
        # torch's layers have two bias vectors a gate, the papers' one.
        assert found - gates * size == run.row.parameters, run.label
        if gates:
            assert any("two bias vectors where the paper's ha" in text for text in run.experiment.differences)


def _extrapolated(run: Planned, size: int) -> int:
    """Count the parameters of a large network from three small ones: they are a polynomial of degree two in n."""
    places, counts = (8, 12, 16), []
    for n in places:
        model = {key: n if value == size else value for key, value in run.settings["model"].items()}
        counts.append(count_parameters(build_network(make_config({**run.settings, "model": model}))))
    total = Fraction(0)
    for i, count in enumerate(counts):
        factors = [Fraction(size - other, places[i] - other) for other in places if other != places[i]]
        total += count * factors[0] * factors[1]
    return int(total)


@pytest.mark.usefixtures("_no_data")
@pytest.mark.parametrize("name", TRAINED)
def test_smoke_is_small(name: str) -> None:
    runs = planned(library.load(name), "smoke")
    assert 1 <= len(runs) <= 4
    for run in runs:
        config = run.config()
        assert (config.training.steps or 100) <= 4
        assert config.training.batch_size <= 4
        sizes = config.network.hidden_size
        largest = sizes if isinstance(sizes, int) else max(sizes)
        if reads_files(config.task):  # whose evaluation is as long as the data
            assert largest <= 16
        else:
            assert max(getattr(config.task, key, 0) for key in ("length", "delay")) <= 10
            assert largest <= 400


def test_smoke_runs_every_model_and_every_task() -> None:
    configs = [run.config() for name in TRAINED for run in planned(library.load(name), "smoke")]
    models = {config.network.name for config in configs}
    assert models >= {"gru", "lstm", "goru", "ncgru", "nnrnn", "exprnn", "rnn-orth", "eurnn", "enrnn", "scornn"}
    assert models >= {"qornn", "ornn", "spectralrnn", "urnn-full"}
    strategies = {config.options["strategy"] for config in configs if config.network.name == "qornn"}
    assert strategies == {"ptq-projunn", "ste-projunn", "ste-bjorck", "ste-pen"}
    assert {config.task.name for config in configs} == set(TASKS) - {"smnist", "sequences"}


@pytest.mark.usefixtures("_no_data")
@pytest.mark.parametrize("name", TRAINED)
def test_a_shared_training_differs_in_the_bits_only(name: str) -> None:
    for run in runs_of(library.load(name)):
        config, trained = run.config().as_dict(), run.training.config().as_dict()
        for option in ("bits", "around_identity"):
            config["model"].pop(option, None), trained["model"].pop(option, None)
        assert config == trained
        quantized_later = run.settings["model"].get("strategy") == "ptq-projunn" and run.settings["model"]["bits"]
        assert (run.shared is not None) == (bool(quantized_later) or run.metric in LEARNED)


@pytest.mark.parametrize("name", COMPUTED)
def test_an_analysis_takes_its_options(name: str) -> None:
    wanted = library.load(name).analysis
    assert wanted is not None
    inspect.signature(getattr(analysis, wanted.name)).bind(**wanted.options)


def test_table_6_quotes_what_the_analysis_quotes() -> None:
    rows = library.load("nnrnn-table6").rows.values()
    table = {(row.label, row.published) for row in rows}
    assert table == {(f"alpha {a:g}, beta {b:g}, d {d:g}", J) for (a, b, d), J in PUBLISHED.items()}
    assert [row.value for row in rows] == [("rows", i, "total") for i in range(len(PUBLISHED))]


@pytest.mark.parametrize(
    ("name", "row", "claim"),
    [
        # "ENRNN converges towards 0 MSE before all other models", Spectral RNN ending slightly lower
        (
            "enrnn-fig1",
            "enrnn",
            {"reaches": 0.0167, "below_row": ("lstm", "spectralrnn", "scornn", "ornn", "urnn-full")},
        ),
        ("enrnn-fig1", "spectralrnn", {"below_row": ("enrnn",)}),
        # "ENRNN significantly outperforms scoRNN and LSTM"; the LSTM with n = 468 "achieves worse scores"
        ("enrnn-table1", "enrnn", {"below_row": ("scornn", "lstm", "lstm-468"), "significant": True}),
        # "ENRNN slightly outperforms LSTM when matching the number of trainable parameters and all other models"
        ("enrnn-table2", "enrnn", {"below_row": ("lstm", "gru", "eurnn", "goru", "ornn", "nnrnn")}),
        # "outperform GRU, LSTM, scoRNN, and GORU models with a significant gap", NC-GRU(Ur, Uc) being better
        ("ncgru-table1", "ncgru", {"below_row": ("gru", "lstm", "scornn", "goru"), "significant": True}),
        ("ncgru-table1", "ncgru-ur", {"below_row": ("gru", "lstm", "scornn", "goru"), "significant": True}),
        (
            "ncgru-table2",
            "ncgru-ur-400",
            {"below_row": ("lstm-400", "gru-400", "scornn-400", "goru-400"), "significant": True},
        ),
        # "the best performance out of all the compared models including our NC-GRU(U_r, U_c) model"
        ("ncgru-table3", "ncgru", {"below_row": ("gru", "lstm", "scornn", "goru", "ncgru-ur")}),
        # "scoRNN performed better than all of the other models"; "both NC-GRU models perform on the same level"
        ("ncgru-table4", "scornn", {"below_row": ("lstm", "gru", "goru", "ncgru", "ncgru-ur")}),
        ("ncgru-table4", "ncgru-ur", {"matches": ("ncgru",), "said": "on the same level as NC-GRU (Uc)"}),
        # "order 2 performs marginally better than order 1 and order 3 ... and significantly better than" the inverse
        (
            "ncgru-fig5",
            "neumann-2",
            {"below_row": ("neumann-1", "neumann-3"), "said": "marginally better than orders 1 and 3"},
        ),
        (
            "ncgru-fig5",
            "neumann-2",
            {"below_row": ("inverse",), "significant": True, "said": "significantly better than the inverse"},
        ),
        # "STE-Bjorck outperforms all other strategies", "better results than the LSTM (FP) and projUNN (FP)", k >= 4
        ("qornn-fig4", "ste-bjorck-k3", {"above_row": ("ste-projunn-k3",)}),
        ("qornn-fig4", "ste-bjorck-k4", {"above_row": ("lstm", "projunn")}),
        ("qornn-fig3", "ste-bjorck-k4", {"above": 0.002}),
        ("qornn-fig3", "ste-bjorck-k5", {"below": 0.002}),
        # "The proposed nnRNN matched the performance of orthogonal RNNs, as well as best training timescales."
        ("nnrnn-table2", "nnrnn", {"matches": ("exprnn", "eurnn")}),
        ("nnrnn-table2", "nnrnn", {"reaches": 0.0095, "matches": ("exprnn", "eurnn")}),
        # "the nnRNN matches orthogonal RNNs in performance, whereas RNN and LSTM show lesser performances"
        ("nnrnn-table3", "nnrnn", {"matches": ("exprnn", "eurnn")}),
        ("nnrnn-table3", "nnrnn", {"above_row": ("rnn", "lstm")}),
        ("nnrnn-readme", "nnrnn", {"below_row": ("exprnn", "exprnn-paper")}),
    ],
)
def test_the_papers_main_claims_are_written_down(name: str, row: str, claim: dict[str, object]) -> None:
    written = [claim.model_dump(exclude_defaults=True) for claim in library.load(name).rows[row].claim]
    assert claim in written


@pytest.mark.parametrize("name", NAMES)
def test_published_numbers_hold_the_papers_claims(name: str) -> None:
    rows = library.load(name).rows
    for row in rows.values():
        for claim in row.claim if row.published is not None else ():
            assert claim.below is None or row.published < claim.below
            assert claim.above is None or row.published > claim.above
            for name_of_other in claim.rows:
                other = rows[name_of_other].published
                assert other is None or not claim.below_row or row.published < other
                assert other is None or not claim.above_row or row.published > other


@pytest.mark.parametrize(
    ("name", "row", "rates"),
    [
        # "0.001 for all strategies and weight types ... A divider factor of 8 is applied to recurrent weight updates"
        ("qornn-fig5", "ste-bjorck-k8", (1e-3, 1e-3 / 8)),
        ("qornn-fig5", "ste-pen-k8", (1e-3, 1e-3 / 8)),
        ("qornn-fig16", "ste-pen-k8", (1e-3, 1e-3 / 8)),
        # nnRNN's supplement, Table 5
        ("nnrnn-table1", "exprnn", (5e-3, 1e-4)),
        ("nnrnn-readme", "exprnn-paper", (5e-3, 1e-4)),
    ],
)
def test_rates_are_the_papers(name: str, row: str, rates: tuple[float, float]) -> None:
    (run,) = planned(library.load(name), "full", [row])
    optimizer = run.config().as_dict()["optimizer"]
    assert (optimizer["lr"], optimizer["recurrent_lr"]) == rates


def test_a_guess_is_not_stated_as_a_fact_and_a_note_stands_at_its_row() -> None:
    assert "does not say whether it divides by all" in " ".join(library.load("enrnn-table1").differences)
    rows = library.load("ncgru-table1").rows
    assert "100" not in (rows["gru"].note or "").replace("T = 100", "")
    assert "released script, which is for this length, has 100" in (rows["gru-200"].note or "")
    assert "ReLU" in (library.load("qornn-fig4").rows["lstm"].departs or "")


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'ncgru-table3'"):
        library.load("ncgru-tabel3")


ROW: dict[str, Any] = {"label": "GRU", "published": 1.0, "settings": {"model": {"name": "gru"}}}
FILE: dict[str, Any] = {
    "paper": "NC-GRU",
    "item": "Table 3",
    "title": "adding",
    "settings": {"task": {"name": "adding"}},
    "budgets": {"smoke": {}, "hour": {}, "full": {}},
    "rows": {"gru": ROW},
}
COMPUTED_FILE: dict[str, Any] = {**FILE, "budgets": {}, "analysis": {"name": "fisher"}}


def test_a_small_file_is_an_experiment() -> None:
    assert list(library.parsed(FILE, "mine").rows) == ["gru"]
    rows = {"total": {"label": "J", "published": 1.0, "value": ["rows", 0, "total"]}}
    assert library.parsed({**COMPUTED_FILE, "rows": rows}, "mine").rows["total"].value == ("rows", 0, "total")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a text", "experiment mine is not a mapping"),
        ({**FILE, "papr": "NC-GRU"}, "papr: Extra inputs are not permitted"),
        ({**FILE, "paper": 3}, "paper: Input should be a valid string"),
        ({k: v for k, v in FILE.items() if k != "title"}, "title: Field required"),
        ({**FILE, "measure": "median"}, "measure: Input should be 'test', 'best'"),
        ({**FILE, "rows": {}}, "an experiment has rows"),
        (
            {**FILE, "rows": {"GRU 1": ROW}},
            "a name may contain only lower-case letters, digits and single dashes, got 'GRU 1'",
        ),
        (
            {**FILE, "rows": {"gru": {"label": "GRU"}}},
            "row gru has neither a published number nor a published statement",
        ),
        ({**FILE, "rows": {"gru": {**ROW, "published": "low"}}}, "rows.gru.published: Input should be a valid number"),
        ({**FILE, "rows": {"gru": {**ROW, "published": float("nan")}}}, "published: Input should be a finite number"),
        ({**FILE, "rows": {"gru": {**ROW, "value": ["rows"]}}}, "row gru has a value, which is for an analysis"),
        (
            {**FILE, "rows": {"gru": {**ROW, "settings": {"modle": {}}}}},
            "there is no section 'modle': the",
        ),
        ({**FILE, "rows": {"gru": {**ROW, "claim": {}}}}, "a claim says one thing: below, above, below_row"),
        ({**FILE, "rows": {"gru": {**ROW, "claim": {"below": 1, "above": 0}}}}, "a claim says one thing"),
        ({**FILE, "rows": {"gru": {**ROW, "claim": {"below": 1, "reaches": 0}}}}, "reaches goes with below_row or"),
        (
            {**FILE, "rows": {"gru": {**ROW, "claim": {"below": 1, "significant": True}}}},
            "significant goes with below_row",
        ),
        (
            {**FILE, "rows": {"gru": {**ROW, "claim": {"below_row": "lstm"}}}},
            "row gru is compared with 'lstm', which is not another row",
        ),
        (
            {**FILE, "rows": {"gru": {**ROW, "claim": {"below_row": ["gru"]}}}},
            "compared with 'gru', which is not another row",
        ),
        ({**FILE, "name": "other"}, "experiment mine takes its name from its file: leave out name"),
        ({**FILE, 3: "x"}, "Keys should be strings"),
        (
            {**FILE, "budgets": {**FILE["budgets"], "hour": {"seeds": [0, 1, 0]}}},
            "each seed may appear only once, got 0, 1, 0",
        ),
        ({**FILE, "rows": {"gru": {**ROW, "trained_as": "lstm"}}}, "row gru is trained as 'lstm', which is not a row"),
        ({**FILE, "rows": {"gru": {**ROW, "trained_as": "gru"}}}, "which is not a row with its own training"),
        (
            {**FILE, "measure": "best", "rows": {"gru": ROW, "again": {**ROW, "trained_as": "gru"}}},
            "row again is trained as gru and measured again: its measure can only be test",
        ),
        ({**FILE, "budgets": {"smoke": {}}}, "budgets hour, full are missing"),
        ({**FILE, "budgets": {**FILE["budgets"], "week": {}}}, "budgets.week"),
        ({**FILE, "budgets": {**FILE["budgets"], "hour": {"settings": {"trainig": {}}}}}, "no section 'trainig'"),
        (COMPUTED_FILE, "row gru does not say where its number stands: give value"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(content: object, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        library.parsed(content, "mine")
    assert str(caught.value).startswith("experiment mine")
    assert sentence in str(caught.value)


def test_a_setting_that_does_not_exist_is_said_with_its_row() -> None:
    rows = {"gru": {**ROW, "settings": {"model": {"name": "gru", "hiden_size": 3}}}}
    run = planned(library.parsed({**FILE, "rows": rows}, "mine"), "hour")[0]
    with pytest.raises(ConfigError, match=r"mine, row gru, budget hour: .*hiden_size"):
        run.config()
