"""A whole program from a seed: its classes, the files that they stand in, how it is run, and who calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

from benchmarks.truth.dice import Dice
from benchmarks.truth.operations import DATA
from benchmarks.truth.projects import draw, foresee, writing
from benchmarks.truth.projects.actions import Branch, Call, Loop, Method, Plan, Try
from benchmarks.truth.projects.writing import Style, Writer, zeros

LAUNCHED = "import torch.multiprocessing as mp"


@dataclass(frozen=True)
class Project:
    """Files by name, the texts of who runs it (one for each assignment of its flags), and what it is made of."""

    name: str
    files: dict[str, str]
    drivers: tuple[str, ...]
    again: tuple[str, ...]
    """The same of who calls a library twice on one object, which nobody is seen to do: what raises then isn't judged."""
    tags: frozenset[str]


@dataclass
class Sheet:
    """One file while it is put together: what it defines, and its lines."""

    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def generate(seed: str) -> Project:
    """The project of a seed."""
    dice = Dice(seed)
    return Assembly(dice, draw.draw(dice)).project(f"project_{re.sub(r'[^0-9a-z]+', '_', seed)}")


class Assembly:
    """One project while it is written."""

    def __init__(self, dice: Dice, plan: Plan) -> None:
        self.dice, self.plan = dice, plan
        self.style: Style = writing.style(dice, plan)
        self.sheets: dict[str, Sheet] = {}
        scattered = dice.chance(0.4)
        package = dice.pick(("", "", "core/", "lib/")) if scattered else ""
        where = ("networks", "helpers", "base", "main", "entry")
        rooms = {"networks": f"{package}networks.py", "helpers": f"{package}helpers.py", "base": f"{package}base.py",
                 "main": dice.pick((f"{package}trainer.py", "train.py")), "entry": "train.py"}  # fmt: skip
        self.rooms = {part: rooms[part] if scattered else "train.py" for part in where}
        self.fit = "method" if plan.entry == "library" else dice.pick(("method", "method", "function", "inline"))
        self.fit = "inline" if plan.fresh else "function" if plan.entry == "function" else self.fit

    def project(self, name: str) -> Project:
        for cls, lines in (*writing.networks(self.plan), *writing.outputs(self.plan)):
            self._put("networks" if "nn.Module" in lines[0] else "helpers", lines, cls)
        self._helpers()
        self._classes()
        self._entry()
        files = {file: self._text(file) for file, sheet in self.sheets.items() if sheet.lines}
        for file in list(files):
            if "/" in file:
                files.setdefault(f"{file.partition('/')[0]}/__init__.py", "")
        drivers = tuple(dict.fromkeys(self._driver(flags) for flags in foresee.assignments(self.plan)))
        again: tuple[str, ...] = ()
        if self.plan.entry in ("library", "steps"):
            again = tuple(dict.fromkeys(self._driver(flags, twice=True) for flags in foresee.assignments(self.plan)))
        return Project(name, files, drivers, again, frozenset(self._tags()))

    def _put(self, part: str, lines: list[str], *names: str) -> None:
        sheet = self.sheets.setdefault(self.rooms[part], Sheet())
        sheet.lines += lines
        sheet.names += names

    def _text(self, file: str) -> str:
        """With what it imports, and the data that it names."""
        sheet = self.sheets[file]
        body = "\n".join(sheet.lines) + "\n"
        data = [f"{name} = {made}" for name, made in DATA.items() if re.search(rf"\b{name}\b", body)]
        body = "\n".join([*data, "", body])
        head = [line for pattern, line in _IMPORTS if re.search(pattern, body)]
        for other, there in self.sheets.items():
            wanted = sorted(name for name in there.names if re.search(rf"\b{name}\b", body))
            if other != file and wanted:
                module = other.removesuffix(".py").replace("/", ".")
                head.append(f"from {module} import {', '.join(wanted)}")
        return "\n".join(head).strip() + "\n\n" + body

    # Classes beside the main one

    def _helpers(self) -> None:
        plan = self.plan
        kinds = {box.kind for box in plan.boxes.values()}
        if "named" in kinds:
            self._put("helpers", ['Item = namedtuple("Item", ["value", "index"])', ""], "Item")
        if "memory" in kinds:
            self._put("helpers", _MEMORY.split("\n"), "Memory")
        for home, name in (("record", "Record"), ("other", "Carrier")):
            held = [each for each in plan.fields.values() if each.home == home]
            if held:
                lines = [f"class {name}:", "    def __init__(self):"]
                self._put(
                    "helpers", [*lines, *(f"        self.{each.name} = {zeros(each.shape)}" for each in held), ""], name
                )
        texts = str(plan.methods)
        if "StopTraining" in texts:
            self._put("helpers", ["class StopTraining(Exception):", '    """The run is over."""', ""], "StopTraining")
        if any(method.decorator == "logged" for method in plan.methods.values()):
            self._put("helpers", _LOGGED.split("\n"), "logged")
        self._outside()

    def _outside(self) -> None:
        """Methods that are none of the main class: functions, callbacks, context managers."""
        writer = Writer(self.plan, self.dice, self.style)
        names: list[str] = []
        for method in self._of("function"):
            writer.method(method, method.actions, "trainer", "trainer")
            names.append(method.name)
        if callbacks := self._of("callback"):
            names.append("Callback")
            with writer.page.block("class Callback:"):
                for method in callbacks:
                    writer.method(method, method.actions, "trainer", "self, trainer")
        for method in self._of("context") if self.style.phase else ():
            names.append(writing._title(method.name))
            self._phase(writer, method)
        if names:
            self._put("helpers", writer.page.lines, *names)

    def _phase(self, writer: Writer, method: Method) -> None:
        batch = ", x" if writer.needs_batch(method) else ""
        with writer.page.block(f"class {writing._title(method.name)}:"):
            with writer.page.block(f"def __init__(self, owner{batch}):"):
                writer.write("self.owner = owner" + ("\nself.x = x" if batch else ""))
            writer.write("")
            writer.known = {}
            for name, actions in (("__enter__(self)", method.actions), ("__exit__(self, *error)", method.after)):
                with writer.page.block(f"def {name}:"):
                    writer.write("owner = self.owner" + ("\nx = self.x" if batch else ""))
                    writer.owner = "owner"
                    if method.counts and name.startswith("__enter__"):
                        writer.write("owner.counter += 1")
                    writer.all(actions)
                writer.write("")
            writer.owner = "self"

    def _of(self, *homes: str) -> list[Method]:
        return [method for method in self.plan.methods.values() if method.home in homes]

    # The main class, and its base

    def _classes(self) -> None:
        style = self.style
        if style.base:
            writer = Writer(self.plan, self.dice, style)
            with writer.page.block(f"class {style.base}{'(ABC)' if style.abstract else ''}:"):
                self._init(writer, in_base=True)
                for method in self._of("base", "split"):
                    writer.method(method, method.actions[: method.at] if method.home == "split" else method.actions)
                for method in self._of("self", "yields") if style.abstract else ():
                    if not method.orchestrates:
                        writer.write("@abstractmethod")
                        with writer.page.block(f"def {method.name}(self, *args):"):
                            writer.write('"""Said by the heir."""')
                        writer.write("")
                if self.fit == "method":
                    self._fit(writer, "self")
            self._put("base", _with_self(writer.page.lines), style.base)
        writer = Writer(self.plan, self.dice, style)
        with writer.page.block(f"class {style.main}{f'({style.base})' if style.base else ''}:"):
            self._init(writer, in_base=False)
            for name, make in self.plan.properties.items():
                writer.write("@property")
                with writer.page.block(f"def {name}(self):"):
                    writer.write(f"return {writer.filled(make.text)}")
                writer.write("")
            for method in self._of("self", "yields"):
                writer.method(method, method.actions)
            for method in self._of("split"):
                writer.method(method, method.actions[method.at :], calls_super=True)
            for method in self._of("context") if not style.phase else ():
                self._context(writer, method)
            if self.fit == "method" and not style.base:
                self._fit(writer, "self")
        self._put("main", _with_self(writer.page.lines), style.main)

    def _context(self, writer: Writer, method: Method) -> None:
        writer.known = {}
        writer.write("@contextmanager")
        with writer.page.block(f"def {method.name}(self{', x' if writer.needs_batch(method) else ''}):"):
            if method.counts:
                writer.write("self.counter += 1")
            writer.all(method.actions)
            writer.write("yield")
            writer.all(method.after)
        writer.write("")

    def _parameters(self) -> list[str]:
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

    def _init(self, writer: Writer, *, in_base: bool) -> None:
        style, given = self.style, self._parameters()
        names = [each.partition("=")[0] for each in given]
        if style.base and not in_base:
            if style.build:
                with writer.page.block("def build(self):"):
                    self._built(writer)
                return writer.write("")
            with writer.page.block(f"def __init__({', '.join(['self', *given])}):"):
                writer.write(f"super().__init__({', '.join(names)})")
                self._built(writer)
            return writer.write("")
        build = in_base and style.build
        if build and "x" in names:
            names.append("x")
        with writer.page.block(f"def __init__({', '.join(['self', *given])}):"):
            for name in dict.fromkeys(names):
                writer.write(f"self.{name} = {name}")
            writer.write("self.counter = 0\nself.epochs = 2")
            if build:
                writer.write("self.build()")
            elif not in_base:
                self._built(writer)
        return writer.write("")

    def _built(self, writer: Writer) -> None:
        """What `__init__` makes: weights, networks, optimisers, fields, boxes."""
        plan, dice = self.plan, self.dice
        writer.owner, writer.known = "self", {}
        if plan.fresh and self.style.base and self.style.build and "x" in self._parameters():
            writer.write("x = self.x")
        for name, shape in plan.weights.items() if not plan.fresh else ():
            writer.write(f"self.{name} = torch.rand({'3, 3' if shape == 'M' else '3'}, requires_grad=True)")
        for name in plan.networks if not self.style.passed else ():
            writer.write(f"self.{name} = {writing._title(name)}()")
        for name in plan.optimizers if not plan.fresh else ():
            writer.write(f"self.{name} = {self._optimizer(name, 'self.')}")
        for box in plan.boxes.values():
            made = {
                "list": "[]",
                "named": "[]",
                "deque": dice.pick(("deque()", "deque(maxlen=20)")),
                "dict": "{}",
                "memory": "Memory()",
            }
            writer.write(f"self.{box.name} = {made[box.kind]}")
        self._begun(writer)
        if self._of("callback"):
            writer.write("self.callbacks = [Callback()]")

    def _begun(self, writer: Writer) -> None:
        plan = self.plan
        homes = {each.home for each in plan.fields.values()}
        if "state" in homes:
            items = (f'"{each.name}": {zeros(each.shape)}' for each in plan.fields.values() if each.home == "state")
            writer.write(f"self.state = {{{', '.join(items)}}}")
        writer.write("self.record = Record()") if "record" in homes else None
        writer.write("self.carrier = Carrier()") if "other" in homes else None
        for each in plan.fields.values():
            if each.home == "self" and each.name not in plan.begun:
                writer.write(f"self.{each.name} = {zeros(each.shape)}")
            elif plan.begun.get(each.name, ...) is None:
                writer.write(f"self.{each.name} = None")
        for make in plan.begun.values():
            if make is not None:
                writer.action(make)

    def _optimizer(self, name: str, before: str) -> str:
        owners = self.plan.optimizers[name]
        parts = [f"{before}{one}" if one in self.plan.weights else f"*{before}{one}.parameters()" for one in owners]
        listed = parts[0][1:] if len(parts) == 1 and parts[0].startswith("*") else f"[{', '.join(parts)}]"
        return f"torch.optim.{self.dice.pick(('SGD', 'Adam'))}({listed}, lr=0.1)"

    # The run

    def _fit(self, writer: Writer, owner: str) -> None:
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
        return f"{self.style.main}({', '.join(flags.get(each, each) for each in self._parameters())})"

    def _flag(self, flag: str) -> str:
        return {"environment": flag.upper(), "flags": f"flags.{flag}", "argparse": f"args.{flag}"}.get(
            self.plan.entry, str(self.plan.known.get(flag, False))
        )

    def _entry(self) -> None:
        plan, entry = self.plan, self.plan.entry
        writer = Writer(plan, self.dice, self.style)
        if entry in ("library", "steps"):
            return
        if entry == "function":
            self.function = self.dice.pick(("train", "run_training", "fit"))
            given = [each.partition("=")[0] for each in self._parameters()]
            with writer.page.block(f"def {self.function}({', '.join([*given, 'batches'])}):"):
                writer.write(f"trainer = {self.style.main}({', '.join(given)})")
                self._turns(writer, "trainer")
            return self._put("entry", writer.page.lines, self.function)
        if entry == "environment":
            writer.write(
                "\n".join(f'{f.upper()} = bool(int(os.environ.get("{f.upper()}", "0")))' for f in plan.flags) + "\n"
            )
        if self.style.cfg and plan.flags and entry not in ("flags", "argparse"):
            self._configuration(writer)
        if self.fit == "function":
            with writer.page.block("def fit(trainer, batches):"):
                self._turns(writer, "trainer")
            writer.write("")
        self._started(writer)
        return self._put("entry", writer.page.lines)

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
            writer.write(f"{name} = {self._optimizer(name, '')}")
        batches = dice.pick(("torch.randn(5, 4, 3)", "[torch.randn(4, 3) for _ in range(5)]", "list(torch.randn(5, 4, 3))",
                             "(torch.randn(4, 3) for _ in range(5))", "deque(torch.randn(4, 3) for _ in range(5))",
                             "DataLoader(torch.randn(20, 3), batch_size=4)"))  # fmt: skip
        writer.write(f"batches = {batches}")
        if not plan.fresh:
            writer.write(f"trainer = {self._constructed()}")
        if self.fit == "inline":
            return self._turns(writer, "trainer")
        return writer.write("trainer.fit(batches)" if self.fit == "method" else "fit(trainer, batches)")

    # Who calls it

    def _driver(self, flags: dict[str, bool], *, twice: bool = False) -> str:
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
        arguments = ", ".join(given[each] for each in self._parameters())
        batches = "[torch.randn(4, 3) for _ in range(5)]"
        if plan.entry == "function":
            yield f"import {self.rooms['entry'].removesuffix('.py').replace('/', '.')} as entry"
            yield f"entry.{self.function}({', '.join(filter(None, (arguments, batches)))})"
            return
        yield f"trainer = {self.style.main}({arguments})"
        for _ in range(1 + twice):
            if self.fit == "method":
                yield f"trainer.fit({batches})"
                continue
            yield f"for x in {batches}:"
            for name in plan.top:
                yield f"    trainer.{name}({'x' if writer.needs_batch(plan.methods[name]) else ''})"

    def _tags(self) -> Iterator[str]:
        plan, style = self.plan, self.style
        yield f"entry: {plan.entry}"
        yield from (f"field: {each.home}" for each in plan.fields.values() if each.home != "net")
        yield from (f"network: {each.kind}" for each in plan.networks.values())
        yield from (f"gathered: {each.kind}" for each in plan.boxes.values())
        yield from (f"method: {each.home}" for each in plan.methods.values())
        yield from (f"returned: {each.packed}" for each in plan.methods.values() if each.gives)
        for chosen, tag in ((style.base, "base class"), (style.passed, "networks passed"), (plan.fresh, "an object a step"),
                            (plan.begun, "made in init"), (len(self.sheets) > 1, "several files"), (plan.last, "at the end"),
                            (plan.flags and not plan.known, "flags from outside"), (plan.known, "flags known")):  # fmt: skip
            if chosen:
                yield tag
        actions = [action for method in plan.methods.values() for action in method.actions]
        yield from (
            f"statement: {type(each).__name__.lower()}"
            for each in actions
            if isinstance(each, Branch | Call | Loop | Try)
        )


def _with_self(lines: list[str]) -> list[str]:
    """Methods are written without their first parameter: here it is."""
    return [
        re.sub(
            r"^(    def (?!__init__|fit|build)\w+)\((?!self)(\w?)",
            lambda m: f"{m[1]}(self{', ' + m[2] if m[2] else ''}",
            line,
        )
        for line in lines
    ]


_IMPORTS = (
    (r"\bargparse\.", "import argparse"),
    (r"\bos\.environ", "import os"),
    (r"\bABC\b|abstractmethod", "from abc import ABC, abstractmethod"),
    (r"\bdeque\(|namedtuple\(", "from collections import deque, namedtuple"),
    (r"@contextmanager", "from contextlib import contextmanager"),
    (r"@dataclass", "from dataclasses import dataclass"),
    (r"\bpartial\(|functools\.wraps", "import functools\nfrom functools import partial"),
    (r"", ""),
    (r"\btorch\.", "import torch"),
    (r"\bF\.", "import torch.nn.functional as F"),
    (r"\bmp\.", LAUNCHED),
    (r"\bnn\.", "from torch import nn"),
    (r"\bDataLoader\(", "from torch.utils.data import DataLoader"),
)

_MEMORY = '''class Memory:
    """Keeps scalars until they are needed."""

    def __init__(self):
        self.items = []

    def add(self, value):
        self.items.append(value)

    def total(self):
        return torch.stack(self.items).sum()

    def clear(self):
        self.items = []

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        yield from self.items
'''

_LOGGED = """def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        print(function.__name__)
        return result

    return wrapper
"""

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
