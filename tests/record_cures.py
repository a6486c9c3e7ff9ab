"""Records in `fixtures/cures/verdicts.json` that real torch says of each program with an expert's cure what is written there."""

from __future__ import annotations

import json
import sys

from cure_fixtures import RECORD, contradictions, examples


def main() -> int:
    """Judge what was changed since it was recorded; 1 on any complaint."""
    known: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    every, problems, record = examples(), [], {}
    for example in every:
        if known.get(example.name) != example.digest:
            problems += contradictions(example)
        record[example.name] = example.digest
    if not problems:
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print("\n".join([*problems, f"{len(every)} programs, {len(problems)} complaints"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
