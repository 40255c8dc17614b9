"""Runs the shell commands of pages in one process, for test_shell_commands.py: torch is imported once."""

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback

from eigenloop.cli import main


def run(words: list[str]) -> tuple[int, str]:
    """Run a command and return its status and what it printed."""
    if words[0] != "eigenloop":
        words = [sys.executable, *words[1:]] if words[0] == "python" else words
        result = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return result.returncode, result.stdout
    printed = io.StringIO()
    environment = dict(os.environ)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            main(words[1:])
    except SystemExit as end:
        return int(end.code or 0), printed.getvalue()
    except Exception:
        return 1, printed.getvalue() + traceback.format_exc()
    finally:
        os.environ.clear()
        os.environ.update(environment)  # --import is inherited by the processes of one command only
    return 0, printed.getvalue()


def run_pages(pages: list[tuple[str, str, list[list[str]]]]) -> bool:
    """Run the commands of each page in its folder, name those that fail, and return whether all went well."""
    well = True
    for page, folder, commands in pages:
        os.chdir(folder)
        sys.path.insert(0, folder)  # a module that --import names stands beside the data
        for words in commands:
            status, printed = run(words)
            if status:
                well = False
                print(f"{page}: {' '.join(words)}\nended with status {status}:\n{printed}", file=sys.stderr)
        sys.path.remove(folder)
    return well


if __name__ == "__main__":
    sys.exit(not run_pages(json.load(sys.stdin)))
