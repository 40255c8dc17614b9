"""Registry entries of the published tables and figures, one for each experiment file."""

from __future__ import annotations

from importlib.resources import files

from eigenloop.errors import ConfigError
from eigenloop.registry.entry import Entry


def experiment_entries() -> list[Entry]:
    """Return one entry for each experiment file; descriptions stay in the files and are read by `experiment_line`."""
    shipped = files("eigenloop").joinpath("experiments", "data").iterdir()
    ours = sorted((file for file in shipped if file.name.endswith(".yaml")), key=lambda file: file.name)
    names = [file.name.removesuffix(".yaml") for file in ours]
    return [
        Entry(name, name, "", f"results/{name.partition('-')[0]}.md", file)
        for name, file in zip(names, ours, strict=True)
    ]


def experiment_line(entry: Entry) -> str:
    """Return the one-line description of an experiment, read from its file.

    Raises:
        ConfigError: the file cannot be read.
    """
    import yaml  # here, because `import eigenloop` does not need it

    try:
        content = yaml.load(entry.load().read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return f"{content['paper']}, {content['item']}: {content['title']}"
    except (OSError, AttributeError, KeyError, TypeError, yaml.YAMLError) as error:
        raise ConfigError(f"experiment {entry.name} cannot be read ({type(error).__name__}: {error})") from error
