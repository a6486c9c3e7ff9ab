"""The GitHub Action: what its YAML says, and its script under bash with inputs as a runner would hand them over."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

ROOT = Path(__file__).resolve().parent.parent
FAILS = (
    "import torch\n\nw = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n"
)

Run: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="reads the action's file")
    read: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return read


def step(action: dict[str, Any]) -> dict[str, Any]:
    (only,) = (each for each in action["runs"]["steps"] if "run" in each)
    assert isinstance(only, dict)
    return only


def test_no_input_is_pasted_into_the_script(action: dict[str, Any]) -> None:
    """An expression in a script is text before bash sees it: a branch called `$(...)` would run."""
    assert action["runs"]["using"] == "composite"
    assert "${{" not in step(action)["run"]
    handed = re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", " ".join([*step(action)["env"].values(), *place(action)]))
    assert sorted([*handed, "cache"]) == sorted(action["inputs"])
    (kept,) = (each for each in action["runs"]["steps"] if "uses" in each)
    assert (
        kept["if"] == "${{ inputs.cache == 'true' }}" and kept["with"]["path"] == "${{ runner.temp }}/retainlint-kept"
    )


def place(action: dict[str, Any]) -> list[str]:
    return [step(action)["working-directory"]]


@pytest.fixture
def run(action: dict[str, Any], tmp_path: Path) -> Run:
    """The script, run where `$INPUT_PYTHON -m venv` only makes a stand-in that runs this checkout."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    (tmp_path / "train.py").write_text(FAILS, encoding="utf-8")
    python = tmp_path / "python"
    python.write_text(VENV.format(python=sys.executable, root=ROOT), encoding="utf-8")
    python.chmod(0o755)

    def run_it(**inputs: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path / "a room"), "ACTION_PATH": "the action"}
        for name, value in step(action)["env"].items():
            match = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value)
            if match:
                env[name] = inputs.pop(match[1].replace("-", "_"), action["inputs"][match[1]]["default"])
        assert not inputs
        env["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
        env["INPUT_PYTHON"] = str(python)
        (tmp_path / "a room").mkdir(exist_ok=True)
        return subprocess.run(
            [bash, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step(action)["run"]],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run_it


VENV = """\
#!/bin/sh
# stands for `python -m venv ROOM`: its pip tells what it was asked for, its retainlint is the checkout's
mkdir -p "$3/bin"
printf '#!/bin/sh\\nprintf "%%s|" "$@" > asked\\n' > "$3/bin/python"
printf '#!/bin/sh\\nPYTHONPATH={root} exec {python} -m retainlint "$@"\\n' > "$3/bin/retainlint"
chmod +x "$3/bin/python" "$3/bin/retainlint"
"""


def test_findings_are_drawn_and_annotated_and_fail(run: Run, tmp_path: Path) -> None:
    done = run()
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("train.py:6:1: error[RTL102] backward-twice: ") and "| ^^^^" in done.stdout
    assert re.search("^::error .*RTL102 backward-twice.*,file=[^,]*train.py,line=6,", done.stdout, re.MULTILINE)
    assert "| error | `train.py:6:1` | **RTL102** backward-twice" in (tmp_path / "summary.md").read_text()
    assert [*(tmp_path / "a room" / "retainlint-kept" / "results").iterdir()], "results aren't kept"
    assert (tmp_path / "asked").read_text().endswith("|the action|")


def test_inputs_reach_the_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_text("", encoding="utf-8")
    assert run(paths="a b.py\n").returncode == 0
    assert run(args="--ignore RTL102\n--statistics", output_format="concise").returncode == 0
    assert run(fail_on="never").returncode == 0
    assert run(fail_on="error").returncode == 1
    assert run(output_format="concise").stdout.startswith("train.py:6:1: RTL102 error: ")
    assert run(version="1.2.3", paths="a b.py").returncode == 0
    assert (tmp_path / "asked").read_text().endswith("|retainlint==1.2.3|")


def test_a_report_can_be_uploaded(run: Run, tmp_path: Path) -> None:
    assert run(output_format="sarif", output_file="out.sarif").returncode == 1
    assert '"ruleId": "RTL102"' in (tmp_path / "out.sarif").read_text(encoding="utf-8")


def test_sarif_beside_the_log(run: Run, tmp_path: Path) -> None:
    assert run(sarif_file="out.sarif", summary="false").returncode == 1
    assert '"ruleId": "RTL102"' in (tmp_path / "out.sarif").read_text(encoding="utf-8")
    assert not (tmp_path / "summary.md").exists()


HANDED = "paths args fail_on output_format output_file version diff_base sarif_file summary".split()


@pytest.mark.parametrize("name", HANDED)
def test_what_is_written_in_an_input_never_runs(run: Run, tmp_path: Path, name: str) -> None:
    for hostile in ("$(touch ran)`touch ran`; touch ran", "';touch ran;'\";touch ran;\"*\ntouch ran"):
        run(**{name: hostile})
        assert not (tmp_path / "ran").exists()


def test_a_wrong_input_is_an_error_not_a_finding(run: Run) -> None:
    assert run(paths="gone").returncode == 2
    assert run(fail_on="errr").returncode == 2
    assert run(args="--no-such-option").returncode == 2


def test_the_readmes_example_names_inputs_that_there_are(action: dict[str, Any]) -> None:
    yaml = pytest.importorskip("yaml")
    pages = [ROOT / "README.md", ROOT / "docs" / "integrations.md"]
    uses = []
    for page in pages:
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            read = yaml.safe_load(block)
            jobs = read.get("jobs", {}).values() if isinstance(read, dict) else []
            uses += [each for job in jobs for each in job["steps"] if "retainlint@" in each.get("uses", "")]
    assert uses
    for each in uses:
        assert set(each.get("with", {})) <= set(action["inputs"])
