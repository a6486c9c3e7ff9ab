"""`python -m benchmarks.live stories PATHS...` or `... cost`: see README.md beside this."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # as tests/judge_torch.py does, so that no child has to
import torch.distributions
import torch.func
import torch.utils.checkpoint
from torch import nn

from retainlint.live.__main__ import run_program
from retainlint.live.places import Stack, row_of
from retainlint.live.recorder import Recording

ROUNDS = 9


def stories(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """What recording tells of each program, and what torch's own anomaly mode says of the node that failed.

    Each runs in a child, so that torch has never run anything in the process that is forked."""
    for path in paths:
        receiving, sending = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(sending, json.dumps(_story(path)).encode())
            os._exit(0)
        os.close(sending)
        with os.fdopen(receiving, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        yield {"path": str(path), **json.loads(answer)}


def _story(path: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(Exception, SystemExit),
        warnings.catch_warnings(record=True) as said,
        torch.autograd.set_detect_anomaly(True),
    ):
        warnings.simplefilter("always")
        sys.argv = [str(path)]
        with Recording() as recording:
            run_program(str(path), is_module=False)
    text = "\n".join(str(each.message) for each in said)
    named = re.findall(r"Error detected in (\w+)\.", text)
    found: dict[str, Any] = {
        "defects": recording.defects,
        "node": named[-1] if named else None,
        "forward": [int(row) for row in re.findall(rf'File "{re.escape(str(path))}", line (\d+)', text)],
    }
    if recording.stories:
        failure = recording.stories[-1].failure
        freed = failure.freed.stack if failure.freed is not None else ()
        places = {"built": failure.built, "freed": freed, "reused": failure.failed.stack}
        rows = {role: _rows(stack, path) for role, stack in places.items()}
        rows["modified"] = [row for change in failure.changes for row in _rows(change.stack, path)]
        found["story"] = {"node": failure.node, "carrier": failure.carrier, "rows": rows}
    return found


def _rows(stack: Stack, path: Path) -> list[int]:
    return [row_of(call) for call in stack if call.code.co_filename == str(path)]


def judged(told: dict[str, Any]) -> str:
    """Whether a story names the node that anomaly mode names, and where that says it was built."""
    story = told.get("story")
    if story is None or told["node"] is None:
        return "no story" if told["node"] else "anomaly mode names no node"
    if story["node"] != told["node"]:
        return "another node"
    return "right" if not told["forward"] or set(story["rows"]["built"]) <= set(told["forward"]) else "built elsewhere"


# -- what it costs ---------------------------------------------------------------------------------------------------


def transformer() -> Callable[[], None]:
    """Four layers 128 wide, eight sequences of 64."""
    embedding, out = nn.Embedding(256, 128), nn.Linear(128, 256)
    layers = nn.Sequential(*(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True) for _ in range(4)))
    optimizer = torch.optim.AdamW([*embedding.parameters(), *layers.parameters(), *out.parameters()])

    def step() -> None:
        x = torch.randint(256, (8, 64))
        loss = nn.functional.cross_entropy(out(layers(embedding(x))).flatten(0, 1), x.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def cnn() -> Callable[[], None]:
    """Six convolutions with batch normalisation, sixteen images of 32 by 32."""
    wide = (3, 16, 16, 32, 32, 64, 64)
    layers: list[nn.Module] = []
    for at in range(6):
        layers += [nn.Conv2d(wide[at], wide[at + 1], 3, padding=1), nn.BatchNorm2d(wide[at + 1]), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] * (at % 2)
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def step() -> None:
        loss = nn.functional.cross_entropy(net(torch.randn(16, 3, 32, 32)), torch.randint(10, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def mlp() -> Callable[[], None]:
    """Three layers 64 wide, where next to nothing is computed: the worst case."""
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(net.parameters())

    def step() -> None:
        loss = net(torch.randn(32, 64)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _timed(step: Callable[[], None], times: int) -> float:
    begun = time.process_time()
    for _ in range(times):
        step()
    return (time.process_time() - begun) / times


def cost() -> None:
    """Milliseconds of the processor that a step takes, plain and recorded, in turn; medians, and that of their ratios."""
    torch.set_num_threads(1)
    print(f"{'':12} {'plain':>8} {'recorded':>8} {'ratio':>6}")
    for make, times in ((transformer, 6), (cnn, 10), (mlp, 200)):
        step = make()
        _timed(step, 3)
        pairs = []
        for _ in range(ROUNDS):
            plain = _timed(step, times)
            with Recording() as recording:
                pairs.append((plain, _timed(step, times)))
            assert not recording.defects
        plain, told = (statistics.median(each) * 1e3 for each in zip(*pairs, strict=True))
        ratio = statistics.median(told / plain for plain, told in pairs)
        print(f"{make.__name__:12} {plain:8.2f} {told:8.2f} {ratio:6.2f}")


def main() -> None:
    """`cost`; or `stories`, a row of JSON for each program, and what they come to."""
    if sys.argv[1:2] == ["cost"]:
        cost()
        return
    given = [Path(name) for name in sys.argv[2:]]
    paths = sorted(path for each in given for path in (each.glob("*.py") if each.is_dir() else [each]))
    verdicts: Counter[str] = Counter()
    for told in stories(paths):
        told["judged"] = judged(told)
        verdicts[told["judged"]] += 1
        print(json.dumps(told), flush=True)
    print(dict(verdicts), file=sys.stderr)


if __name__ == "__main__":
    main()
