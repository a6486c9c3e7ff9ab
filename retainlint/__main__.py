"""`python -m retainlint`."""

from __future__ import annotations

from retainlint.cli import main

if __name__ == "__main__":
    main()
