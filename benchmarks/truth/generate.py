"""Writes random training programs: `python -m benchmarks.truth.generate --count 100 --seed 7 --out programs`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.truth.program import generate


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, required=True, help="folder; made if it isn't there")
    chosen = options.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    for number in range(chosen.count):
        program = generate(f"{chosen.seed}.{number}")
        (chosen.out / f"{program.name}.py").write_text(program.text, encoding="utf-8")
    print(f"{chosen.count} programs in {chosen.out}")


if __name__ == "__main__":
    main()
