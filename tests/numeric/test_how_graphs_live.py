"""The page that teaches with the core: its programs run, and its pictures and stories are what they give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retainlint.commands.run import run

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "how-graphs-live.md").read_text(encoding="utf-8")
PROGRAMS = {match[1]: match[0] for match in re.finditer(r"(?<=```python\n)# (\w+)\.py\n.*?(?=```)", PAGE, re.DOTALL)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_picture_is_what_the_program_gives(name: str, tmp_path: Path) -> None:
    script, picture = tmp_path / f"{name}.py", tmp_path / f"{name}.svg"
    script.write_text(PROGRAMS[name], encoding="utf-8")
    run(script, [], graph=picture)
    assert picture.read_text(encoding="utf-8") == (DOCS / "graphs" / f"{name}.svg").read_text(encoding="utf-8")
    assert f"(graphs/{name}.svg)" in PAGE


def test_story_and_trace_are_what_the_program_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "twice.py"
    script.write_text(PROGRAMS["twice"], encoding="utf-8")
    assert run(script, [], trace=True) == 1
    told = capsys.readouterr().err
    for block in re.findall(r"```\n((?:how it came about|trace: ).*?)```", PAGE, re.DOTALL):
        assert all(line in told for line in block.splitlines())
