"""`python -m retainlint`, and `retainlint`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; it doesn't return. An interrupt is quiet even while that is imported."""
    try:
        from retainlint.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
