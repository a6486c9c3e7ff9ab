"""`python -m retainlint`, and `retainlint`."""

from __future__ import annotations

import os
import sys


def _leave_here() -> None:
    """`python -m` puts the working directory before all else that is imported: what lies in a checked tree is not run.
    A clone of this program is its own."""
    here = os.getcwd()
    if sys.path[0] in ("", here) and not os.path.abspath(__file__).startswith(os.path.join(here, "")):
        del sys.path[0]


def main() -> None:
    """Run the command line; it doesn't return. An interrupt is quiet even while that is imported."""
    try:
        from retainlint.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    _leave_here()
    main()
