"""Programs that fail, each with the cure that an expert wrote for it: `fixtures/cures`, and what torch says of both."""

from __future__ import annotations

import hashlib
import math
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # the checks need it as well there
    import tomli as tomllib

if TYPE_CHECKING:
    from judge_torch import Verdict

ROOM = Path(__file__).resolve().parent.parent / "fixtures" / "cures"

RECORD = ROOM / "verdicts.json"
"""By the name of each program a digest of it as torch has judged it: `record_cures.py` writes that."""

CURES = frozenset(
    """allow-unused as-number backward-first clear-list clone compute-where-used create-graph detach detach-carried move-into-closure
    move-into-loop no-grad out-of-place recompute remove-backward retain sum uncut""".split()
)
"""What an expert does, in a word each; README.md beside the programs says what they mean."""

SENTENCES = {
    "freed": "Trying to backward through the graph a second time",
    "modified": "one of the variables needed for gradient computation has been modified by an inplace operation",
    "no-graph": "does not require grad and does not have a grad_fn",
    "leaf": "a leaf Variable that requires grad",
    "view": "is a view and is being modified inplace",
    "unused": "appears to not have been used in the graph",
    "untracked": "One of the differentiated Tensors does not require grad",
}
"""A part of the first sentence of what torch raises, by the word for it."""


@dataclass(frozen=True)
class Failure:
    """One root cause: where torch raises for it, what the expert does, and where; and what else would do, or do harm.

    `rows` are "file:row" in the program as it is, `names` what stands there. An entry of `harmful` may name what the
    cure is applied to: "detach:fresh".
    """

    rule: str
    other_rules: tuple[str, ...]
    error: str
    file: str
    line: int
    cure: str
    names: tuple[str, ...]
    rows: tuple[str, ...]
    acceptable: tuple[str, ...]
    harmful: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Example:
    """A program with its expert's version; `modules` are what it imports, beside it."""

    folder: Path
    about: str
    modules: tuple[str, ...]
    grads: str
    failures: tuple[Failure, ...]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def digest(self) -> str:
        """Of all files of its folder, with their names."""
        found = hashlib.sha256()
        for path in sorted(self.folder.rglob("*")):
            if path.suffix in (".py", ".toml"):
                text = path.read_text(encoding="utf-8")
                found.update(f"{path.relative_to(self.folder).as_posix()}\0{text}\0".encode())
        return found.hexdigest()[:32]

    def copied(self, folder: Path) -> Path:
        """The program and its modules alone, without what the expert wrote; its new place."""
        for name in ("program.py", *self.modules):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(self.folder / name, folder / name)
        return folder / "program.py"


def examples(room: Path = ROOM) -> list[Example]:
    return [_read(path) for path in sorted(room.glob("*/cure.toml"))]


def _read(path: Path) -> Example:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    failures = tuple(Failure(**{key: _frozen(value) for key, value in each.items()}) for each in data["failure"])
    return Example(path.parent, data["about"], tuple(data["modules"]), data["grads"], failures)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def contradictions(example: Example) -> list[str]:
    """What torch says otherwise of a program, and of its cured version, than is written there."""
    from judge_torch import judge

    first, found = example.failures[0], []
    failed = judge(example.folder / "program.py", project=example.folder)
    place = (Path(failed.file or "").name, failed.line)
    if place != (first.file, first.line) or SENTENCES[first.error] not in (failed.sentence or ""):
        found.append(f"{example.name}: {first.file}:{first.line}, but torch says {place}: {failed.sentence}")
    cured = judge(example.folder / "expert.py", project=example.folder)
    if cured.raises or not same_grads(fingerprint(cured), example.grads):
        found.append(f"{example.name}: the cured version ends with {fingerprint(cured) or cured.sentence}")
    return found


def fingerprint(verdict: Verdict) -> str:
    """The line that the program prints when it gets to its end: sums of its gradients or weights."""
    lines = [line for line in verdict.stdout.splitlines() if line.startswith("grads ")]
    return lines[-1] if lines and not verdict.raises else ""


def same_grads(one: str, two: str) -> bool:
    """Whether two fingerprints tell of the same gradients, but for what the order of a sum does, and how that is rounded."""
    ones, twos = one.split()[1:], two.split()[1:]
    if not ones or len(ones) != len(twos):
        return False
    places = max((len(each.partition(".")[2]) for each in (*ones, *twos) if "e" not in each), default=4)
    rounding = max(2e-4, min(1.01 * 10.0**-places, 1.01e-3))
    return all(math.isclose(float(a), float(b), rel_tol=2e-3, abs_tol=rounding) for a, b in zip(ones, twos))
