"""``python -m eigenloop``."""

from __future__ import annotations

from eigenloop.cli import main

if __name__ == "__main__":
    main()
