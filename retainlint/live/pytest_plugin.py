"""`pytest --retainlint-live`: each test is recorded, and an error of autograd's is told with the life of its graph."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option is there wherever retainlint is installed; without it, nothing else here does anything."""
    group = parser.getgroup("retainlint")
    group.addoption(
        "--retainlint-live",
        action="store_true",
        help="record the graphs of each test: an autograd error tells where its graph was built and freed",
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """A test as it runs, with its stories beside the captured output where Python's exceptions carry no notes."""
    if not item.config.getoption("--retainlint-live"):
        yield
        return
    from retainlint.live.recorder import CARRIES_NOTES, Recording

    with Recording() as recording:
        yield
    for story in () if CARRIES_NOTES else recording.stories:
        item.add_report_section("call", "retainlint", story.text())
