"""The command line, called inside the process of a test."""

import pytest

from eigenloop.cli import main


def call(*arguments: str) -> int:
    """Run a command and return its status."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    code = ended.value.code
    return code if isinstance(code, int) else 0
