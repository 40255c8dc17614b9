"""Modules of settings stood in `eigenloop.training` itself."""

import importlib

import pytest


@pytest.mark.parametrize(
    ("module", "name"), [("config", "reads_files"), ("keys", "set_value"), ("sections", "Section")]
)
def test_former_places_still_answer(module: str, name: str) -> None:
    former = importlib.import_module(f"eigenloop.training.{module}")
    now = importlib.import_module(f"eigenloop.training.settings.{module}")
    with pytest.warns(FutureWarning, match=rf"eigenloop\.training\.settings\.{module}"):
        assert getattr(former, name) is getattr(now, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = former.nothing
