"""Configurations: complete, the same after a round through YAML, and refused with a sentence when they are wrong."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from training.small import small

from eigenloop.models import NAMES
from eigenloop.runs.yaml_text import dump, load
from eigenloop.tasks import TASKS
from eigenloop.training import ConfigError, make_config, read_settings, train
from eigenloop.training.network import build_network
from eigenloop.training.optimizers import OPTIMIZERS
from eigenloop.training.settings.keys import known_keys, set_value

SYNTHETIC = ("adding", "copying", "denoise", "parenthesis")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("model", NAMES)
def test_every_pair_has_settings_and_survives_yaml(task: str, model: str) -> None:
    config = make_config({"task": {"name": task}, "model": {"name": model}})
    again = make_config(load(config.as_yaml()))
    assert again == config
    assert again.as_yaml() == config.as_yaml()


@pytest.mark.parametrize("task", SYNTHETIC)
@pytest.mark.parametrize("model", NAMES)
def test_every_pair_makes_a_network(task: str, model: str) -> None:
    config = make_config({"task": {"name": task}, "model": {"name": model, "hidden_size": 8}})
    net = build_network(config)
    y, _ = net(config.task.train_batch(0, 2, 0).inputs[:5])
    sequences = (2,) if config.task.last else (5, 2)
    assert y.shape == (*sequences, config.task.output_size)
    assert torch.isfinite(y).all()
    assert net.rnn.recurrent_matrix().shape == (8, 8)


def test_sizes_of_one_network_go_together() -> None:
    """Words: three layers with dropout between, an embedding as wide as the last; or one layer, torch's, or complex."""
    words = {"name": "ptb-word"}
    three = make_config({"task": words, "model": {"name": "ncgru"}})
    assert three.network.hidden_size == (400, 1150, 400)
    assert three.options["dropout"] == 0.4
    assert three.options["negative"] == 50
    other = make_config({"task": words, "model": {"name": "ncgru", "hidden_size": [30, 20]}})
    assert other.options["dropout"] == 0.4
    assert other.options["negative"] is None
    assert other.network.embedding_size == 20
    one = make_config({"task": words, "model": {"name": "ncgru", "hidden_size": 12}})
    assert one.network.embedding_size == 12
    assert "dropout" not in one.options
    lstm = make_config({"task": words, "model": {"name": "lstm"}})
    assert lstm.options["num_layers"] == 3
    assert "locked_dropout" not in lstm.options
    assert make_config({"task": words, "model": {"name": "projunn"}}).optimizer["name"] == "projunn"
    full = make_config({"task": words, "model": {"name": "urnn-full"}})
    assert full.optimizer["name"] == "unitary-cayley"
    assert full.network.hidden_size == 400
    assert not full.network.tied


@pytest.mark.parametrize("model", NAMES)
def test_every_model_trains_on_words(model: str, tmp_path: Path) -> None:
    folder = tmp_path / "ptb"
    folder.mkdir()
    for part in ("train", "valid", "test"):
        (folder / f"ptb.{part}.txt").write_text(" the cat sat on the mat \n a dog did not \n" * 30)
    task = {"name": "ptb-word", "bptt": 5, "eval_streams": 2, "verify": False, "data_dir": str(tmp_path)}
    config = make_config(
        {"task": task, "model": {"name": model, "hidden_size": 8}, "training": {"steps": 2, "batch_size": 3}}
    )
    assert train(config, tmp_path / "run")["test"]["perplexity"] > 1


#: Parameter counts that the papers' tables have (section 3 of the facts).
COUNTS = [
    ("copying", "scornn", {}, 21_764),
    ("copying", "lstm", {}, 22_109 + 4 * 68),  # torch has two bias vectors a gate
    ("copying", "enrnn", {}, 22_395),
    ("copying", "nnrnn", {}, 18_953),
    ("adding", "enrnn", {}, 15_441),
    ("adding", "scornn", {}, 15_046),
    ("parenthesis", "ncgru", {}, 10_182),
    ("parenthesis", "scornn", {}, 8_873),
]


@pytest.mark.parametrize(("task", "model", "options", "count"), COUNTS)
def test_published_sizes(task: str, model: str, options: dict[str, Any], count: int) -> None:
    net = build_network(make_config({"task": {"name": task}, "model": {"name": model, **options}}))
    assert sum(p.numel() for p in net.parameters()) == count


def test_settings_win_over_the_papers() -> None:
    published = make_config({"task": {"name": "adding"}, "model": {"name": "enrnn"}})
    assert published.options["short"] == 64
    assert published.optimizer["name"] == "tf-rmsprop"
    assert published.optimizer["lr"] == 1e-4
    given_size = make_config({"task": {"name": "adding"}, "model": {"name": "enrnn", "hidden_size": 20}})
    assert given_size.options["short"] is None  # 64 belongs to 160 units
    other = make_config({"task": {"name": "adding"}, "model": {"name": "enrnn"}, "optimizer": {"name": "adam"}})
    assert other.optimizer["lr"] == 1e-3  # rates belong to the optimizer they were published with
    assert "decay" not in other.optimizer
    rate = make_config({"task": {"name": "adding"}, "model": {"name": "enrnn"}, "optimizer": {"lr": 0.5}})
    assert rate.optimizer["lr"] == 0.5
    assert rate.optimizer["recurrent_lr"] == 1e-4
    epochs = make_config({"task": {"name": "pmnist"}, "model": {"name": "gru"}, "training": {"steps": 3}})
    assert epochs.training.epochs is None


#: What is wrong, and what the sentence must hold.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"task": {"name": "copyng"}}, "no task 'copyng': did you mean 'copying'"),
    ({"model": {"name": "scornnn"}}, "no model 'scornnn': did you mean 'scornn'"),
    ({"model": {"name": 3}}, "no model '3'"),
    ({"optimizer": {"name": "adma"}}, "no optimizer 'adma': did you mean 'adam'"),
    ({"trainig": {}}, "no section 'trainig': did you mean 'training'"),
    ({"training": {"batchsize": 3}}, "no setting 'training.batchsize': did you mean 'training.batch_size'"),
    ({"task": {"name": "copying", "dely": 3}}, "no setting 'task.dely': did you mean 'task.delay'"),
    ({"model": {"name": "scornn", "negativ": 3}}, "no setting 'model.negativ': did you mean 'model.negative'"),
    ({"optimizer": {"name": "adam", "beta": 3}}, "no setting 'optimizer.beta': did you mean 'optimizer.betas'"),
    ({"schedule": {"nme": "plateau"}}, "no setting 'schedule.nme'"),
    ({"training": {"batch_size": 0}}, "training.batch_size=0 is refused"),
    ({"training": {"batch_size": "many"}}, "training.batch_size='many' is refused"),
    ({"training": {"dtype": "float16"}}, "'float32' or 'float64'"),
    ({"training": {"seed": -1}}, "training.seed=-1 is refused"),
    ({"training": {"steps": 3, "epochs": 3}}, "exclude each other"),
    ({"training": {"epochs": 3}}, "has no epochs"),
    ({"schedule": {"name": "factor"}}, "schedule.unit=step"),
    ({"schedule": {"factor": 0}}, "schedule.factor=0 is refused"),
    ({"optimizer": {"lr": -1}}, "optimizer.lr=-1 is refused"),
    ({"optimizer": {"lr": "fast"}}, "optimizer.lr='fast' is refused"),
    ({"optimizer": {"lr": float("nan")}}, "optimizer.lr=nan is refused"),
    ({"optimizer": {"name": "adam", "betas": [0.9]}}, "it has 2 entries"),
    ({"optimizer": {"name": "adam", "betas": 0.9}}, "optimizer.betas=0.9 is refused"),
    ({"task": {"name": "copying", "delay": "long"}}, "task.delay='long' is refused"),
    ({"task": {"name": "copying", "convention": "mark"}}, "task.convention='mark' is refused"),
    ({"task": {"name": "copying", "delay": 0}}, "delay must be at least 1"),
    ({"model": {"name": "scornn", "embedding_size": 4}}, "copying has none"),
    ({"model": {"name": "scornn", "tied": True}}, "set model.embedding_size"),
    (
        {"task": {"name": "pmnist", "split": "60k"}, "training": {"until": 0.1}},
        "training.until looks at the validation",
    ),
    ({"task": {"name": "pmnist", "split": "60k"}, "training": {"patience": 1}}, "training.patience looks at"),
    ({"task": {"name": "pmnist", "split": "60k"}, "schedule": {"name": "plateau"}}, "schedule.name=plateau looks at"),
    ({"task": {"name": "pmnist"}, "training": {"epochs": float("inf")}}, "training.epochs=inf is refused"),
    ({"optimizer": {"lr": 1e38}}, "from 0 to 1e+30"),
    ({"optimizer": {"weight_decay": -1}}, "optimizer.weight_decay=-1 is refused"),
    ({"model": {"name": "scornn", "bias": "foo"}}, "model.bias='foo' is refused"),
    ({"model": {"name": "nnrnn", "delta": "abc"}}, "model.delta='abc' is refused"),
    ({"model": {"name": "scornn", "init": 3}}, "model.init=3 is refused"),
    ({"training": {"threads": 100000}}, "training.threads=100000 is refused"),
    ({"training": None, "task": []}, "section task is a mapping"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_mistakes_get_a_sentence(changes: dict[str, Any], message: str) -> None:
    settings = {"task": {"name": "copying"}, "model": {"name": "scornn"}, **changes}
    with pytest.raises(ConfigError) as caught:
        make_config(settings)
    assert message in str(caught.value)


#: Mistakes that show when the network is built.
UNBUILDABLE = [
    ({"model": {"name": "scornn", "negative": 99}}, "negative"),
    ({"model": {"name": "nnrnn", "hidden_size": 7}}, "even"),
    ({"model": {"name": "scornn", "nonlinearity": "sin"}}, "nonlinearity"),
    ({"model": {"name": "projunn"}, "optimizer": {"name": "adam"}}, "would not keep it orthogonal"),
    ({"optimizer": {"name": "projunn"}}, "models projunn and urnn-full"),
    ({"training": {"device": "toaster"}}, "training.device='toaster' is refused"),
]


@pytest.mark.parametrize(("changes", "message"), UNBUILDABLE)
def test_networks_that_cannot_be_built_get_a_sentence(changes: dict[str, Any], message: str) -> None:
    rest = {section: values for section, values in changes.items() if section != "model"}
    config = small(model=changes.get("model"), **rest)
    with pytest.raises(ConfigError, match=message):
        build_network(config)


# -------------------------------------------------------------------- --set


@pytest.mark.parametrize(
    ("assignment", "place", "value"),
    [
        ("lr=1e-3", ("optimizer", "lr"), 0.001),
        ("decay=0.5", ("optimizer", "decay"), 0.5),
        ("negative=5", ("model", "negative"), 5),
        ("delay=7", ("task", "delay"), 7),
        ("training.clip_norm=1", ("training", "clip_norm"), 1),
        ("convention=after-marker", ("task", "convention"), "after-marker"),
        ("schedule.name=plateau", ("schedule", "name"), "plateau"),
        ("hidden_size=[8, 4]", ("model", "hidden_size"), [8, 4]),
        ("train_size=null", ("task", "train_size"), None),
    ],
)
def test_set(assignment: str, place: tuple[str, str], value: Any) -> None:
    settings: dict[str, Any] = {"task": {"name": "copying"}, "model": {"name": "scornn"}}
    set_value(settings, assignment)
    assert settings[place[0]][place[1]] == value


def test_set_knows_the_optimizer_that_will_be_used() -> None:
    settings: dict[str, Any] = {"task": {"name": "ptb-char"}, "model": {"name": "nnrnn"}, "training": None}
    set_value(settings, "betas=[0.1, 0.9]")
    set_value(settings, "clip_norm=3")
    config = make_config(settings)
    assert config.optimizer["betas"] == [0.1, 0.9]
    assert config.training.clip_norm == 3


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("lr", "sets nothing"),
        ("=3", "sets nothing"),
        ("negativ=3", "did you mean 'negative'"),
        ("patience=3", "write schedule.patience or training.patience"),
        ("tranig.steps=3", "no section 'tranig': did you mean 'training'"),
        ("lr=[1, ", "not YAML"),
    ],
)
def test_set_mistakes(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        set_value({"task": {"name": "copying"}, "model": {"name": "scornn"}}, assignment)


# -------------------------------------------------------------------- files, and fuzzing


@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 1e-3), ("-2E+4", -2e4), (".5", 0.5), ("7", 7), ("1.5.2", "1.5.2")]
)
def test_numbers_in_yaml(text: str, value: Any) -> None:
    assert load(text) == value
    assert type(load(text)) is type(value)


@pytest.mark.parametrize("text", ["lr: 1\nsteps: 2\nlr: 3\n", "task: {name: a, name: b}\n"])
def test_a_key_that_stands_twice_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="duplicate key"):
        read_settings(path)


def test_a_merge_is_no_repetition() -> None:
    assert load("base: &b {lr: 1}\nrow: {<<: *b, lr: 2}\n")["row"] == {"lr": 2}
    # What is merged from deeper inside is flattened before it is built itself.
    chained = load("base: &b {lr: 1}\ninner: {deep: &d {<<: *b, lr: 2}}\nouter: {<<: *d, lr: 3}\n")
    assert (chained["inner"]["deep"], chained["outer"]) == ({"lr": 2}, {"lr": 3})


def test_nothing_in_a_file_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evil.yaml"
    path.write_text("task: !!python/object/apply:os.system ['touch evil']\n")
    with pytest.raises(ConfigError, match="is not YAML"):
        read_settings(path)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"- a\n- b\n", "holds a list"),
        (b"\xff\xfe\x00", "is not YAML"),
        (b"a: [", "is not YAML"),
        (b"3", "holds a int"),
    ],
)
def test_files_that_are_no_settings(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_settings(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_settings(tmp_path / "nothing.yaml")


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 300)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(list(OPTIMIZERS)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=300)
@given(data=st.data(), task=st.sampled_from(SYNTHETIC), model=st.sampled_from([*NAMES]))
def test_fuzzed_settings_are_used_or_refused(data: st.DataObject, task: str, model: str) -> None:
    """Any value in any place: a configuration that survives YAML, or ConfigError; never anything else."""
    given: dict[str, Any] = {"task": {"name": task}, "model": {"name": model}}
    known = known_keys(given)
    for _ in range(data.draw(st.integers(1, 3))):
        section = data.draw(st.sampled_from(list(known)))
        key = data.draw(st.sampled_from([key for key in known[section] if key != "name"]) | st.text(max_size=6))
        given.setdefault(section, {})[key] = data.draw(values)
    try:
        config = make_config(given)
    except ConfigError:
        return
    assert make_config(load(config.as_yaml())).as_yaml() == config.as_yaml()
    small_enough = isinstance(config.network.hidden_size, int) and 0 < config.network.hidden_size < 64
    if small_enough and config.task.output_size * config.task.input_size < 10_000:
        with suppress(ConfigError):
            build_network(config)


@settings(max_examples=150)
@given(
    content=st.binary(max_size=200)
    | st.text(max_size=200).map(str.encode)
    | values.map(lambda v: yaml.safe_dump(v).encode())
)
def test_fuzzed_files_are_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.yaml"
    path.write_bytes(content)
    with suppress(ConfigError):
        make_config(read_settings(path))


def test_dump_keeps_the_order() -> None:
    assert dump({"b": 1, "a": 1e-10}) == "b: 1\na: 1.0e-10\n"


@pytest.mark.parametrize("model", ["lstm", "eurnn", "scornn"])
def test_no_layers_at_all_are_refused(model: str) -> None:
    with pytest.raises(ConfigError, match="hidden_size"):
        make_config({"task": {"name": "adding"}, "model": {"name": model, "hidden_size": []}})


#: Words that YAML takes for true and false, where a number or a name is wanted.
TRUTHS = [
    ("task", "delay: yes"),
    ("task", "delay: true"),
    ("model", "hidden_size: on"),
    ("model", "hidden_size: [8, yes]"),
    ("model", "negative: yes"),
    ("model", "bits: no"),
    ("optimizer", "lr: yes"),
    ("optimizer", "momentum: yes"),
    ("schedule", "every: yes"),
    ("training", "steps: yes"),
    ("training", "clip_norm: true"),
    ("training", "seed: no"),
]


@pytest.mark.parametrize(("section", "setting"), TRUTHS)
def test_yes_is_no_number(section: str, setting: str, tmp_path: Path) -> None:
    names = {"task": "name: copying", "model": "name: scornn", "optimizer": "name: rmsprop"}
    content = {**names, section: ", ".join(filter(None, (names.get(section), setting)))}
    (tmp_path / "mine.yaml").write_text("".join(f"{key}: {{{value}}}\n" for key, value in content.items()))
    with pytest.raises(ConfigError, match=rf"{section}\.{setting.partition(':')[0]}=.* is refused"):
        make_config(read_settings(tmp_path / "mine.yaml"))


def test_yes_where_it_is_wanted() -> None:
    settings = {
        "task": {"name": "copying"},
        "model": {"name": "scornn", "bias": False},
        "training": {"tensorboard": True},
    }
    config = make_config(settings)
    assert config.training.tensorboard is True
    assert config.options["bias"] is False
