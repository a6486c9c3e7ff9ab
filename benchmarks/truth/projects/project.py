"""A whole program from a seed: its classes, and the files that they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.truth.dice import Dice
from benchmarks.truth.operations import DATA
from benchmarks.truth.projects import draw, writing
from benchmarks.truth.projects.actions import Branch, Call, Loop, Method, Plan, Try
from benchmarks.truth.projects.running import Run
from benchmarks.truth.projects.writing import Style, Writer, zeros


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
        way = "method" if plan.entry == "library" else dice.pick(("method", "method", "function", "inline"))
        way = "inline" if plan.fresh else "function" if plan.entry == "function" else way
        self.run = Run(dice, plan, self.style, self.rooms, way)

    def project(self, name: str) -> Project:
        for cls, lines in (*writing.networks(self.plan), *writing.outputs(self.plan)):
            self._put("networks" if "nn.Module" in lines[0] else "helpers", lines, cls)
        self._helpers()
        self._classes()
        if lines := self.run.entry():
            self._put("entry", lines, *filter(None, (self.run.function,)))
        files = {file: self._text(file) for file, sheet in self.sheets.items() if sheet.lines}
        for file in list(files):
            if "/" in file:
                files.setdefault(f"{file.partition('/')[0]}/__init__.py", "")
        again = self.run.drivers(twice=True) if self.plan.entry in ("library", "steps") else ()
        return Project(name, files, self.run.drivers(), again, frozenset(self._tags()))

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
                if self.run.way == "method":
                    self.run.fit(writer, "self")
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
            if self.run.way == "method" and not style.base:
                self.run.fit(writer, "self")
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

    def _init(self, writer: Writer, *, in_base: bool) -> None:
        style, given = self.style, self.run.parameters()
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
        if plan.fresh and self.style.base and self.style.build and "x" in self.run.parameters():
            writer.write("x = self.x")
        for name, shape in plan.weights.items() if not plan.fresh else ():
            writer.write(f"self.{name} = torch.rand({'3, 3' if shape == 'M' else '3'}, requires_grad=True)")
        for name in plan.networks if not self.style.passed else ():
            writer.write(f"self.{name} = {writing._title(name)}()")
        for name in plan.optimizers if not plan.fresh else ():
            writer.write(f"self.{name} = {self.run.optimizer(name, 'self.')}")
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
    (r"\bmp\.", "import torch.multiprocessing as mp"),
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
