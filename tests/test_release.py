"""What a release needs: a workflow that fits the project, hints that name what can be installed, pages without blanks to guess."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retainlint import __version__
from retainlint.commands.configuring import known_rules
from retainlint.config.schema import schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = [
    path
    for place in ("retainlint", "docs", "editors", "README.md", "action.yml")
    for path in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    if path.suffix in (".py", ".md", ".js", ".json", ".yml")
]


def workflow() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="reads the workflow")
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    return found


def test_each_python_that_is_named_is_tried() -> None:
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert workflow()["jobs"]["try"]["strategy"]["matrix"]["python"] == named


def test_only_the_step_that_publishes_may_and_no_token_is_kept() -> None:
    jobs = workflow()["jobs"]
    assert workflow()["permissions"] == {"contents": "read"}
    assert {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})} == {"publish"}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    needs = {name: job.get("needs") for name, job in jobs.items()}
    assert needs == {"build": None, "try": "build", "publish": "try", "announce": "publish"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(
    ("tag", "said"),
    [("v0.0.0", f"says {__version__}"), (f"v{__version__}", f"no section ## [{__version__}]")],
)
def test_a_tag_must_fit_the_version_and_the_changelog(tag: str, said: str, tmp_path: Path) -> None:
    for name in (".ci/release", "retainlint/startup/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n- x\n\n## [{__version__}0]\n\n- y\n")
    done = subprocess.run(["bash", ".ci/release", tag], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and said in done.stderr


def test_hints_name_extras_that_exist() -> None:
    named = {
        extra
        for path in TEXTS
        for word in re.findall(r"retainlint\[([a-z, ]+)\](?!`)", path.read_text(encoding="utf-8"))
        for extra in word.split(",")
    }
    assert named and named <= PROJECT["optional-dependencies"].keys()


def test_a_reader_of_the_readme_guesses_nothing() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not re.findall(r"<[a-z][^>\n]*>", re.sub(r"^```text\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def test_the_entries_for_schemastore_are_of_our_files() -> None:
    page = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    entry, tool = (json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    described = str(schema(known_rules(), ())["description"])
    assert entry["fileMatch"] == ["retainlint.toml", ".retainlint.toml"] and "retainlint.toml" in described
    assert tool["retainlint"]["$ref"] == entry["url"]
