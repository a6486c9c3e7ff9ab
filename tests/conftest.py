"""What tests in several rooms start from."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Run
from fake_pipeline import fake_pipeline
from machine import Machine

from retainlint import cli
from retainlint.startup import process


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command line over a faked pipeline, in an empty directory: exit code, standard output and error."""
    fake_pipeline(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RETAINLINT_NO_CACHE", "1")  # what is faked must not be kept

    def run_it(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exited:
            cli.main(list(args))
        captured = capsys.readouterr()
        assert isinstance(exited.value.code, int)
        return exited.value.code, captured.out, captured.err

    return run_it


@pytest.fixture(scope="session")
def machine() -> Machine:
    """Explore a text: `machine("...").lines`."""
    return Machine()


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell's background jobs ignore Ctrl-C, and so would the processes that tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def unbounded() -> Iterator[None]:
    """A command line takes its process for its own and bounds its memory, in which torch has no room: for one test only."""
    if sys.platform == "win32":
        yield
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)
    yield
    process.ours = False
    if resource.getrlimit(resource.RLIMIT_AS) != limit:
        resource.setrlimit(resource.RLIMIT_AS, limit)
