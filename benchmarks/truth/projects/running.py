"""How a project's main object is made and run, in the project and by who calls it from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from benchmarks.truth.dice import Dice
from benchmarks.truth.projects import foresee, writing
from benchmarks.truth.projects.actions import Plan
from benchmarks.truth.projects.writing import Style, Writer


@dataclass
class Run:
    """One project's run; `way` is where its loop stands: in a "method", in a "function", or "inline"."""

    dice: Dice
    plan: Plan
    style: Style
    rooms: dict[str, str]
    way: str
    function: str = ""  # what others call, where that is a function

    def parameters(self) -> list[str]:
        plan, style = self.plan, self.style
        flags = [] if not plan.flags else ["cfg"] if style.cfg else [f"{flag}=False" for flag in plan.flags]
        nets = [*plan.networks] if style.passed else []
        optimizers = [*plan.optimizers] if plan.fresh else []
        batch = ["x"] if plan.fresh and any(make is not None for make in plan.begun.values()) else []
        return [
            *([] if style.cfg is False else flags),
            *nets,
            *optimizers,
            *batch,
            *(flags if style.cfg is False else []),
        ]

    def optimizer(self, name: str, before: str) -> str:
        owners = self.plan.optimizers[name]
        parts = [f"{before}{one}" if one in self.plan.weights else f"*{before}{one}.parameters()" for one in owners]
        listed = parts[0][1:] if len(parts) == 1 and parts[0].startswith("*") else f"[{', '.join(parts)}]"
        return f"torch.optim.{self.dice.pick(('SGD', 'Adam'))}({listed}, lr=0.1)"

    def fit(self, writer: Writer, owner: str) -> None:
        with writer.page.block(f"def fit({owner}, batches):"):
            self._turns(writer, owner)
        writer.write("")

    def _turns(self, writer: Writer, owner: str) -> None:
        plan = self.plan
        header = self.dice.pick(("for x in batches:", "for x in batches:", "for number, x in enumerate(batches):"))
        epochs = "for epoch in range(2):" if self.dice.chance(0.15) else ""
        with writer.page.block(epochs) if epochs else nullcontext(), writer.page.block(header):
            if plan.fresh:
                writer.write(f"trainer = {self._constructed()}")
            for name in plan.top:
                writer.write(f"{owner}.{name}({'x' if writer.needs_batch(plan.methods[name]) else ''})")
        for name in plan.last:
            writer.write(f"{owner}.{name}({'x' if writer.needs_batch(plan.methods[name]) else ''})")

    def _constructed(self) -> str:
        flags = {f"{flag}=False": f"{flag}={self._flag(flag)}" for flag in self.plan.flags}
        return f"{self.style.main}({', '.join(flags.get(each, each) for each in self.parameters())})"

    def _flag(self, flag: str) -> str:
        return {"environment": flag.upper(), "flags": f"flags.{flag}", "argparse": f"args.{flag}"}.get(
            self.plan.entry, str(self.plan.known.get(flag, False))
        )

    def entry(self) -> list[str]:
        """What starts it; nothing of a library, which others call."""
        plan, entry = self.plan, self.plan.entry
        writer = Writer(plan, self.dice, self.style)
        if entry in ("library", "steps"):
            return []
        if entry == "function":
            self.function = self.dice.pick(("train", "run_training", "fit"))
            given = [each.partition("=")[0] for each in self.parameters()]
            with writer.page.block(f"def {self.function}({', '.join([*given, 'batches'])}):"):
                writer.write(f"trainer = {self.style.main}({', '.join(given)})")
                self._turns(writer, "trainer")
            return writer.page.lines
        if entry == "environment":
            writer.write(
                "\n".join(f'{f.upper()} = bool(int(os.environ.get("{f.upper()}", "0")))' for f in plan.flags) + "\n"
            )
        if self.style.cfg and plan.flags and entry not in ("flags", "argparse"):
            self._configuration(writer)
        if self.way == "function":
            with writer.page.block("def fit(trainer, batches):"):
                self._turns(writer, "trainer")
            writer.write("")
        self._started(writer)
        return writer.page.lines

    def _configuration(self, writer: Writer) -> None:
        writer.write("@dataclass")
        with writer.page.block("class Config:"):
            for flag in self.plan.flags:
                writer.write(f"{flag}: bool = {self._flag(flag)}")
        writer.write("")

    def _started(self, writer: Writer) -> None:
        entry, page = self.plan.entry, writer.page
        if entry == "script":
            return self._body(writer)
        name, given = {"spawn": ("worker", "rank, size"), "process": ("worker", "rank"), "partial": ("run", "seed"),
                       "flags": ("main", "flags")}.get(entry, ("main", ""))  # fmt: skip
        with page.block(f"def {name}({given}):"):
            if entry == "argparse":
                writer.write("parser = argparse.ArgumentParser()")
                for flag in self.plan.flags:
                    writer.write(f'parser.add_argument("--{flag}", action="store_true")')
                writer.write("args = parser.parse_args()")
            writer.write("torch.manual_seed(seed)" if entry == "partial" else "torch.manual_seed(0)")
            self._body(writer)
        writer.write("")
        if entry == "flags":
            return None
        call = {"spawn": "mp.spawn(worker, args=(1,), nprocs=1)", "process": "process = mp.Process(target=worker, args=(0,))\nprocess.start()\nprocess.join()",
                "partial": "job = partial(run, 0)\njob()"}.get(entry, "main()")  # fmt: skip
        if self.dice.chance(0.85):
            with page.block('if __name__ == "__main__":'):
                return writer.write(call)
        return writer.write(call)

    def _body(self, writer: Writer) -> None:
        plan, dice = self.plan, self.dice
        if self.style.cfg and plan.flags:
            writer.write({"flags": "cfg = flags", "argparse": "cfg = args"}.get(plan.entry, "cfg = Config()"))
        if self.style.passed:
            for name in plan.networks:
                writer.write(f"{name} = {writing._title(name)}()")
        for name in plan.optimizers if plan.fresh else ():
            writer.write(f"{name} = {self.optimizer(name, '')}")
        batches = dice.pick(("torch.randn(5, 4, 3)", "[torch.randn(4, 3) for _ in range(5)]", "list(torch.randn(5, 4, 3))",
                             "(torch.randn(4, 3) for _ in range(5))", "deque(torch.randn(4, 3) for _ in range(5))",
                             "DataLoader(torch.randn(20, 3), batch_size=4)"))  # fmt: skip
        writer.write(f"batches = {batches}")
        if not plan.fresh:
            writer.write(f"trainer = {self._constructed()}")
        if self.way == "inline":
            return self._turns(writer, "trainer")
        return writer.write("trainer.fit(batches)" if self.way == "method" else "fit(trainer, batches)")

    # Who calls it

    def drivers(self, *, twice: bool = False) -> tuple[str, ...]:
        """The texts of who runs it, one for each assignment of its flags."""
        assigned = foresee.assignments(self.plan)
        return tuple(dict.fromkeys(self._driver(flags, twice=twice) for flags in assigned))

    def _driver(self, flags: dict[str, bool], *, twice: bool) -> str:
        entry = self.plan.entry
        values = ", ".join(f"{name}={value}" for name, value in flags.items())
        if entry == "flags":
            lines = ["import train", f"train.main(SimpleNamespace({values}))"]
        elif entry in ("library", "steps", "function"):
            lines = list(self._called(flags, values, twice=twice))
        else:
            words = [f"--{name}" for name, value in flags.items() if value] if entry == "argparse" else []
            set_ = (f'os.environ["{name.upper()}"] = "{int(value)}"' for name, value in flags.items())
            lines = [*(set_ if entry == "environment" else ()), f"sys.argv = {['train.py', *words]!r}", _RUN]
        return "\n".join([_HEAD, "try:", *(f"    {line}" for line in lines), _FIRST])

    def _called(self, flags: dict[str, bool], values: str, *, twice: bool) -> Iterator[str]:
        """A library's class, used in the obvious way."""
        plan, writer = self.plan, Writer(self.plan, self.dice, self.style)
        main, networks = (self.rooms[part].removesuffix(".py").replace("/", ".") for part in ("main", "networks"))
        yield f"from {main} import {self.style.main}"
        nets = {name: f"{writing._title(name)}()" for name in plan.networks}
        if self.style.passed and nets:
            yield f"from {networks} import {', '.join(writing._title(name) for name in nets)}"
        given = (
            {"cfg": f"SimpleNamespace({values})"}
            | nets
            | {f"{name}=False": str(value) for name, value in flags.items()}
        )
        arguments = ", ".join(given[each] for each in self.parameters())
        batches = "[torch.randn(4, 3) for _ in range(5)]"
        if plan.entry == "function":
            yield f"import {self.rooms['entry'].removesuffix('.py').replace('/', '.')} as entry"
            yield f"entry.{self.function}({', '.join(filter(None, (arguments, batches)))})"
            return
        yield f"trainer = {self.style.main}({arguments})"
        for _ in range(1 + twice):
            if self.way == "method":
                yield f"trainer.fit({batches})"
                continue
            yield f"for x in {batches}:"
            for name in plan.top:
                yield f"    trainer.{name}({'x' if writer.needs_batch(plan.methods[name]) else ''})"


_HEAD = """import os
import runpy
import sys
from types import SimpleNamespace

import torch
import torch.multiprocessing


class _Process:
    def __init__(self, target, args=()):
        self.start = lambda: target(*args)

    def join(self):
        pass


torch.multiprocessing.Process = _Process
torch.multiprocessing.spawn = lambda target, args=(), nprocs=1: [target(rank, *args) for rank in range(nprocs)]
"""

_RUN = 'runpy.run_path(os.path.abspath("train.py"), run_name="__main__")'

_FIRST = """except Exception as error:
    first = error  # where handlers and contexts fail in their turn, the first refusal counts
    while error.__context__ is not None:
        error = error.__context__
        first = error if isinstance(error, RuntimeError) and "stopped" not in str(error) else first
    raise first
"""
