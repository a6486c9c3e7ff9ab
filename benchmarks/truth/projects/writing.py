"""Writes a plan's classes: where each field lives, what each method says, what the base class has of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks.truth.dice import Dice
from benchmarks.truth.page import Page
from benchmarks.truth.projects.actions import (
    SIZES,
    Action,
    Branch,
    Call,
    Clear,
    Cut,
    Gather,
    Loop,
    Make,
    Method,
    Network,
    Nudge,
    Plan,
    Say,
    Step,
    Test,
    Try,
    Walk,
)

_PLACE = re.compile(r"§([\w.]+)§")


@dataclass
class Style:
    """How one author writes: names of classes, where the configuration is, whether there is a base class."""

    main: str
    base: str
    cfg: bool
    passed: bool
    build: bool
    abstract: bool
    phase: bool
    logs: bool


def style(dice: Dice, plan: Plan) -> Style:
    main = dice.pick(("Trainer", "Agent", "Learner", "Solver", "Experiment", "Worker"))
    based = any(method.home in ("base", "split") for method in plan.methods.values()) or dice.chance(0.1)
    unseen = plan.entry in ("library", "steps", "function") and any(net.state for net in plan.networks.values())
    return Style(
        main,
        f"{dice.pick(('Base', 'Abstract', 'Core'))}{main}" if based else "",
        cfg=dice.chance(0.6) or plan.entry == "argparse",
        passed=plan.fresh or (dice.chance(0.2) and not unseen),
        build=dice.chance(0.4),
        abstract=dice.chance(0.5),
        phase=dice.chance(0.5),
        logs=dice.chance(0.2),
    )


@dataclass
class Writer:
    """Writes methods; `owner` is what the object is called where an action stands, `known` where returned fields are."""

    plan: Plan
    dice: Dice
    style: Style
    page: Page = field(default_factory=Page)
    owner: str = "self"
    known: dict[str, str] = field(default_factory=dict)

    # Places

    def place(self, name: str) -> str:
        plan, o = self.plan, self.owner
        if name in self.known:
            return self.known[name]
        if name in plan.flags:
            return f"{o}.cfg.{name}" if self.style.cfg else f"{o}.{name}"
        kind = plan.fields.get(name)
        homes = {"state": f'{o}.state["{name}"]', "record": f"{o}.record.{name}", "other": f"{o}.carrier.{name}"}
        return homes.get(kind.home, f"{o}.{name}") if kind is not None else f"{o}.{name}"

    def filled(self, text: str) -> str:
        return _PLACE.sub(lambda found: self.place(found[1]), text)

    def needs_batch(self, method: Method) -> bool:
        return any(self._takes_batch(action) for action in (*method.actions, *method.after))

    def _takes_batch(self, action: Action) -> bool:
        match action:
            case Make(text=text):
                return re.search(r"\bx\b", text) is not None
            case Call(method=name, body=body):
                return self.needs_batch(self.plan.methods[name]) or any(map(self._takes_batch, body))
            case Walk(roots=roots, how="yielded"):
                return self.needs_batch(self.plan.methods[roots[0]])
            case Branch(body=body, other=other):
                return any(map(self._takes_batch, (*body, *other)))
            case Try(body=body, handler=handler):
                return any(map(self._takes_batch, (*body, *handler)))
            case Loop(body=body):
                return any(map(self._takes_batch, body))
        return False

    # Actions

    def all(self, actions: Iterable[Action]) -> None:
        for action in actions:
            self.action(action)

    def write(self, text: str) -> None:
        for line in text.split("\n"):
            self.page.write(line)

    def action(self, action: Action) -> None:
        match action:
            case Make(field=name, text=text, lazily=lazily):
                place = self.known.setdefault(name, name) if self._is_local(name) else self.place(name)
                if lazily:
                    with self.page.block(f"if {place} is None:"):
                        self.write(f"{place} = {self.filled(text)}")
                else:
                    self.write(f"{place} = {self.filled(text)}")
            case Cut(field=name, form=form):
                self.write(self.filled(form.replace("{}", self.place(name))))
            case Gather():
                self._gather(action)
            case Clear(box=name):
                self._clear(name)
            case Walk():
                self._walk(action)
            case Step(optimizer=name, clears=clears):
                self.write(f"{self.owner}.{name}.step()")
                if clears:
                    self.write(f"{self.owner}.{name}.zero_grad()")
            case Nudge(weight=weight, form=form):
                with self.page.block("with torch.no_grad():"):
                    self.write(form.replace("{}", self.place(weight)))
            case Say(field=name):
                place = self.place(name)
                self.write(self.dice.pick((f"print({place}.detach().sum().item())", f"print(float({place}.sum()))")))
            case Branch():
                self._branch(action)
            case Loop(header=header, body=body):
                with self.page.block(self.filled(header)):
                    self.all(body)
            case Try():
                self._try(action)
            case Call():
                self._call(action)

    def _is_local(self, name: str) -> bool:
        return self.plan.fields[name].home == "local"

    def _gather(self, action: Gather) -> None:
        box, value = self.plan.boxes[action.box], self.place(action.field)
        value += "" if self.plan.fields[action.field].shape == "S" else self.dice.pick((".mean()", ".sum()"))
        value += ".detach()" if action.cut else ""
        place = f"{self.owner}.{box.name}"
        self.write({
            "dict": f"{place}[len({place})] = {value}",
            "named": f"{place}.append(Item({value}, len({place})))",
            "memory": f"{place}.add({value})",
        }.get(box.kind, f"{place}.append({value})"))  # fmt: skip

    def _clear(self, name: str) -> None:
        box, place = self.plan.boxes[name], f"{self.owner}.{name}"
        anew = {"list": "[]", "named": "[]", "deque": "deque()", "dict": "{}", "memory": "Memory()"}[box.kind]
        self.write(self.dice.pick((f"{place}.clear()", f"{place} = {anew}")))

    def _items(self, name: str) -> str:
        place = f"{self.owner}.{name}"
        return {"dict": f"{place}.values()", "named": f"[item.value for item in {place}]"}.get(
            self.plan.boxes[name].kind, place
        )

    def _walk(self, walk: Walk) -> None:
        keep = self.filled(walk.keep)
        if walk.how == "yielded":
            method = self.plan.methods[walk.roots[0]]
            with self.page.block(f"for value in {self.owner}.{method.name}({self._arguments(method)}):"):
                return self.write(f"value.backward({keep})")
        if walk.roots[0] in self.plan.boxes:
            return self._walk_box(walk, keep)
        roots = [self.place(name) + ("" if self.plan.fields[name].shape == "S" else ".sum()") for name in walk.roots]
        comma = f", {keep}" if keep else ""
        if walk.how == "function":
            return self.write(f"torch.autograd.backward({roots[0]}{comma})")
        if walk.how == "roots":
            return self.write(f"torch.autograd.backward([{', '.join(roots)}]{comma})")
        if walk.how == "grad":
            owned = [self.place(w) if w in self.plan.weights else f"list({self.place(w)}.parameters())"
                     for w in self.plan.optimizers["optimizer"]][:1]  # fmt: skip
            return self.write(f"gradients = torch.autograd.grad({roots[0]}, {owned[0]}{comma}, allow_unused=True)")
        if len(roots) > 1:
            return self.write(f"({' + '.join(roots)}).backward({keep})")
        return self.write(f"{roots[0]}.backward({keep})")

    def _walk_box(self, walk: Walk, keep: str) -> None:
        items, box = self._items(walk.roots[0]), self.plan.boxes[walk.roots[0]]
        if walk.how == "each":
            with self.page.block(f"for item in {items}:"):
                return self.write(f"item.backward({keep})")
        if walk.how == "roots":
            return self.write(f"torch.autograd.backward(list({items}){', ' + keep if keep else ''})")
        total = f"{self.owner}.{box.name}.total()" if box.kind == "memory" else f"sum({items})"
        return self.write(f"{self.dice.pick((total, f'torch.stack(list({items})).sum()'))}.backward({keep})")

    def _test(self, test: Test) -> str:
        text = f"{self.owner}.counter % {test.every} == 0" if test.every else self.place(test.name)
        return f"not {text}" if test.negated and not test.every else text.replace("==", "!=") if test.negated else text

    def _branch(self, branch: Branch) -> None:
        with self.page.block(f"if {self._test(branch.test)}:"):
            self.all(branch.body)
            if branch.early:
                self.write("return")
        if branch.early:
            return self.all(branch.other)
        if branch.other:
            with self.page.block("else:"):
                self.all(branch.other)

    def _try(self, action: Try) -> None:
        with self.page.block("try:"):
            self.all(action.body)
            if action.flag:
                with self.page.block(f"if {self.place(action.flag)}:"):
                    self.write(f'raise {action.error}("stopped")')
        with self.page.block(f"except {action.error}{'' if action.handler or action.ending else ' as error'}:"):
            self.all(action.handler)
            if action.ending:
                self.write('print("failed")\nraise')
            elif not action.handler:
                self.write("print(error)")

    # Calls

    def _arguments(self, method: Method, first: str = "") -> str:
        batch = ["x"] if self.needs_batch(method) else []
        return ", ".join([*([first] if first else []), *batch, *(self.place(name) for name in method.takes)])

    def _call(self, call: Call) -> None:
        method, o = self.plan.methods[call.method], self.owner
        text = f"{o}.{method.name}({self._arguments(method)})"
        match method.home:
            case "context":
                if self.style.phase:
                    text = f"{_title(method.name)}({self._arguments(method, o)})"
                with self.page.block(f"with {text}:"):
                    self.all(call.body)
            case "callback":
                with self.page.block(f"for callback in {o}.callbacks:"):
                    self.write(f"callback.{method.name}({self._arguments(method, o)})")
            case "function":
                self.write(f"{method.name}({self._arguments(method, o)})")
            case _:
                self._returned(method, text)

    def _returned(self, method: Method, text: str) -> None:
        gives = method.gives
        if not gives:
            return self.write(text)
        if method.packed == "dict":
            name = self.page.name(f"{method.name}_out")
            self.write(f"{name} = {text}")
            return self.known.update({each: f'{name}["{each}"]' for each in gives})
        if method.packed in ("named", "record"):
            name = self.page.name(f"{method.name}_out")
            self.write(f"{name} = {text}")
            return self.known.update({each: f"{name}.{each}" for each in gives})
        self.write(f"{', '.join(gives)} = {text}")
        return self.known.update({each: each for each in gives})

    # Methods

    def method(
        self,
        method: Method,
        actions: Iterable[Action],
        owner: str = "self",
        before: str = "",
        *,
        calls_super: bool = False,
    ) -> None:
        """One definition; `before` are parameters in front."""
        self.owner, self.known = owner, {name: name for name in method.takes}
        batch = ["x"] if self.needs_batch(method) else []
        if method.decorator:
            self.write(f"@{method.decorator}")
        with self.page.block(f"def {method.name}({', '.join(filter(None, [before, *batch, *method.takes]))}):"):
            if calls_super:
                self.write(f"super().{method.name}({', '.join([*batch, *method.takes])})")
            if method.counts:
                self.write(f"{owner}.counter += 1")
            if method.home == "yields":
                for action in actions:
                    self.action(action)
                    self.write(f"yield {self.place(action.field)}" if isinstance(action, Make) else "yield")
            else:
                self.all(actions)
            self._return(method)
        self.write("")
        self.owner = "self"

    def _return(self, method: Method) -> None:
        gives = method.gives
        if not gives:
            return
        if method.packed == "dict":
            return self.write(f"return {{{', '.join(f'{chr(34)}{name}{chr(34)}: {name}' for name in gives)}}}")
        if method.packed in ("named", "record"):
            return self.write(f"return {_title(method.name)}Output({', '.join(gives)})")
        return self.write(f"return {', '.join(gives)}")


def _title(name: str) -> str:
    return name.title().replace("_", "")


def networks(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """The classes of the networks, by name."""
    for net in plan.networks.values():
        yield _title(net.name), _network(net)


def _network(net: Network) -> list[str]:
    begun = {
        "recurrent": ["self.hidden = torch.zeros(4, 3)"],
        "buffered": ['self.register_buffer("trace", torch.zeros(4, 3))'],
        "cached": ["self.weight = nn.Parameter(torch.rand(3))", "self.scale = None"],
        "penalised": ["self.weight = nn.Parameter(torch.rand(3))", "self.penalty = None"],
    }.get(net.kind, [])
    forward = {
        "recurrent": ["self.hidden = torch.tanh(self.layer(x) + self.hidden)", "return self.hidden"],
        "buffered": ["self.trace = 0.9 * self.trace + self.layer(x)", "return self.trace.tanh()"],
        "cached": ["if self.scale is None:", "    self.scale = self.weight.exp()", "return self.layer(x) * self.scale"],
        "penalised": ["self.penalty = self.weight.pow(2).sum()", "return self.layer(x) * self.weight"],
    }.get(net.kind, ["return self.layer(x)"])
    more = {
        "recurrent": ["def reset(self):", "    self.hidden = torch.zeros(4, 3)", "",
                      "def detach_hidden(self):", "    self.hidden = self.hidden.detach()"],
        "buffered": ["def reset(self):", "    self.trace = torch.zeros(4, 3)"],
        "cached": ["def reset(self):", "    self.scale = None"],
    }.get(net.kind, [])  # fmt: skip
    lines = [f"class {_title(net.name)}(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [
        f"        self.layer = {net.layer}",
        *(f"        {each}" for each in begun),
        "",
        "    def forward(self, x):",
    ]
    return [*lines, *(f"        {each}" for each in forward), "", *(f"    {each}" if each else "" for each in more), ""]


def outputs(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """The classes of what methods return."""
    for method in plan.methods.values():
        name = f"{_title(method.name)}Output"
        if method.gives and method.packed == "named":
            yield name, [f'{name} = namedtuple("{name}", {list(method.gives)!r})', ""]
        elif method.gives and method.packed == "record":
            yield name, ["@dataclass", f"class {name}:", *(f"    {each}: torch.Tensor" for each in method.gives), ""]


def zeros(shape: str) -> str:
    return f"torch.zeros({SIZES[shape]})"
