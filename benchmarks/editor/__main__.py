"""Edits a training file of 300 rows in the language server, as an editor would, all over it, and prints how long findings take."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

CHANGES, TIMED, ROWS = 500, 80, 300

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x):
        return torch.tanh(self.layers(x))


"""

PART = """\
def train_{n}(epochs, rate):
    model, head = Encoder(16), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=rate)
    loader = DataLoader(TensorDataset(torch.randn(32, 8), torch.randn(32, 1)), batch_size=8)
    history = []
    for epoch in range(epochs):
        for x, y in loader:
            features = model(x)
            prediction = head(features)
            loss = nn.functional.mse_loss(prediction, y)
            if epoch > {n}:
                loss = loss + 0.1 * features.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            history.append(loss.item())
    return history


"""

FAILING = """\
def fit():
    model = Encoder(16)
    hidden = model(torch.randn(4, 8))
    for step in range(3):
        loss = hidden.pow(2).mean()
        loss.backward()


fit()
"""


EDITS = {
    "a row within a function": ("    history = []\n", "    rate = {n}\n    history = []\n"),
    "a word within another": ("range(3)", "range(3 + {n})"),
    "a constant that nobody reads": ("\n\nclass ", "\n\nLIMIT = {n}\n\n\nclass "),
    "an import": ("import torch\n", "import math as m{n}\nimport torch\n"),
    "a method that all functions call": ("self.layers(x))", "self.layers(x) * {n})"),
    "an attribute of that class": ("nn.Module):\n", "nn.Module):\n    number = {n}\n\n"),
    "a function more": ("def fit():", "def more_{n}(x):\n    return x * {n}\n\n\ndef fit():"),
    "a text that isn't Python": ("range(3)", "range(3 + {n}"),
}
"""What is put for what, where that stands first; the number is another each time."""


def edited(text: str, kind: str, number: int) -> str:
    old, new = EDITS[kind]
    assert old in text
    return text.replace(old, new.format(n=number + 1), 1)


def program() -> str:
    text = HEAD
    for n in range((ROWS - HEAD.count("\n") - FAILING.count("\n")) // PART.count("\n")):
        text += PART.format(n=n)
    return text + FAILING


def usage(pid: int) -> tuple[float, float]:
    """MiB of a process and of those that it started, and their seconds of processor time."""
    memory = seconds = 0.0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if pid in (int(place.name), int(fields[1])):
                memory += int((place / "statm").read_text().split()[1]) * 4096 / 2**20
                seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return memory, seconds


def middle_and_late(times: list[float]) -> tuple[float, float]:
    """The median, and what 95% are within."""
    return statistics.median(times), sorted(times)[int(0.95 * len(times))]


async def measure(root: Path, text: str) -> None:
    client, told = LanguageClient("benchmark", "1"), asyncio.Queue[tuple[float, types.PublishDiagnosticsParams]]()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: types.PublishDiagnosticsParams) -> None:
        told.put_nowait((time.perf_counter(), params))

    uri, begun = (root / "train.py").as_uri(), time.perf_counter()

    async def first(version: int) -> float:
        while True:
            at, params = await asyncio.wait_for(told.get(), 60)
            if params.version == version:
                assert [each.code for each in params.diagnostics] in (["RTL101"], ["RTL900"]), params.diagnostics
                return at

    await client.start_io(sys.executable, "-m", "retainlint", "server")
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities(), root_uri=root.as_uri()))
    client.initialized(types.InitializedParams())
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))
    print(f"from the start of the server to the first diagnostics: {await first(1) - begun:.2f} s")
    await asyncio.sleep(2)
    assert client._server is not None
    pid, times, worked = client._server.pid, dict[str, list[float]](), list[float]()
    before, _ = usage(pid)
    for number in range(CHANGES):
        kind = [*EDITS][number % len(EDITS)]
        event = types.TextDocumentContentChangeWholeDocument(edited(text, kind, number))
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=number + 2)
        at, spent = time.perf_counter(), usage(pid)[1]
        client.text_document_did_change(types.DidChangeTextDocumentParams(document, [event]))
        if number < TIMED:
            times.setdefault(kind, []).append(await first(number + 2) - at)
            worked.append(usage(pid)[1] - spent)
            await asyncio.sleep(0.3)  # someone reads what is told, and goes on
        elif number % 5 == 0:
            await first(number + 2)
    await asyncio.sleep(2)
    after, _ = usage(pid)
    (median, late), (work, most) = map(middle_and_late, ([one for found in times.values() for one in found], worked))
    command = [sys.executable, "-m", "retainlint", "check", "--no-cache", "train.py"]
    checks = []
    for _ in range(5):
        at = time.perf_counter()
        subprocess.run(command, cwd=root, capture_output=True, check=False)
        checks.append(time.perf_counter() - at)
    once = statistics.median(checks)
    for kind, found in times.items():
        print(
            f"after a change of {kind}: median {statistics.median(found) * 1000:.0f} ms, at most {max(found) * 1000:.0f} ms"
        )
    print(f"after a change: median {median * 1000:.0f} ms, 95% within {late * 1000:.0f} ms")
    print(f"processor time until then: median {work * 1000:.0f} ms, 95% within {most * 1000:.0f} ms")
    print(f"one `check --no-cache`: {once * 1000:.0f} ms, of which these are {median / once:.3f} and {late / once:.3f}")
    print(f"memory of both processes: {before:.0f} MiB, after {CHANGES} changes {after:.0f} MiB")
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "pyproject.toml").write_text("")
        (Path(directory) / "train.py").write_text(program())
        asyncio.run(measure(Path(directory), program()))
