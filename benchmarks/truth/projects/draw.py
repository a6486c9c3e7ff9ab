"""Draws a plan: tensors and networks first, then methods that do one thing, then those that call them, then the run."""

from __future__ import annotations

import re

from benchmarks.truth.dice import Dice
from benchmarks.truth.expressions import Wish, expression
from benchmarks.truth.operations import Operation
from benchmarks.truth.pen import Pen
from benchmarks.truth.projects import foresee
from benchmarks.truth.projects.actions import (
    SIZES,
    Action,
    Box,
    Branch,
    Call,
    Clear,
    Cut,
    Field,
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
from benchmarks.truth.scope import Live, Scope, Variable

TRIES = 80
_FIELDS = ("h", "hidden", "features", "context", "code", "baseline", "target_value", "memory_state")
_LOSSES = ("loss", "aux", "penalty_loss", "critic_loss", "actor_loss", "reg")
_WORKERS = ("observe", "encode", "collect", "compute", "score", "prepare", "predict")
_UPDATES = ("update", "learn", "optimize", "backward_all", "apply_gradients")
_RESETS = ("reset", "detach_state", "clear", "begin_batch", "end_batch", "forget")
_FLAGS = ("keep", "cut", "warm", "twice", "strict", "verbose")
_NETS = ("model", "critic", "encoder", "actor")
_LAYERS = ("nn.Linear(3, 3)", "nn.Linear(3, 3)", "nn.Sequential(nn.Linear(3, 3), nn.Tanh())",
           "nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))", "nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3))",
           "nn.Conv1d(4, 4, 1)", "nn.Linear(3, 3, bias=False)")  # fmt: skip
_ERRORS = ("ValueError", "KeyError", "RuntimeError", "ArithmeticError", "StopTraining", "Exception")

ENTRIES = (("script", 2.0), ("guarded", 3.0), ("spawn", 0.7), ("process", 0.5), ("partial", 0.6), ("environment", 1.0),
           ("argparse", 2.0), ("flags", 2.5), ("function", 1.5), ("library", 2.5), ("steps", 1.5))  # fmt: skip
CLOSED = ("script", "guarded", "spawn", "process", "partial")
"""Entries of a program that says itself how its flags are set."""


def draw(dice: Dice) -> Plan:
    """A plan with the outcome that the dice wish for, as far as can be foreseen."""
    wish = dice.weighted((("raise", 10.0), ("meet", 7.0), ("near", 2.5), ("plain", 1.0)))
    spare: Plan | None = None
    for _ in range(TRIES):
        plan = Drafting(dice).plan()
        found = foresee.outcome(plan)
        if found == wish:
            return plan
        spare = plan if found else spare
    return spare or draw(dice)


class Drafting:
    """One plan in the making."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.made = Plan()
        self.pen = Pen(dice, lambda pen, scope, size: None)
        self.pen.cuts = 0.03
        self._names: set[str] = set()

    def plan(self) -> Plan:
        plan, dice = self.made, self.dice
        plan.flags = tuple(dice.some(_FLAGS, 0, dice.weighted(((0, 4.0), (1, 4.0), (2, 2.0)))))
        plan.entry = dice.weighted(ENTRIES)
        if plan.flags and plan.entry in CLOSED:
            plan.known = {flag: dice.chance(0.5) for flag in plan.flags}
        self._holders()
        for name in self._fields():
            self._begin(name)
        for _ in range(dice.number(2, 5)):
            self._worker()
        self._step()
        reached = set[str]()
        for name in (*plan.top, *plan.last):
            self._reach(name, reached)
        plan.methods = {name: method for name, method in plan.methods.items() if name in reached}
        return plan

    def _reach(self, name: str, reached: set[str]) -> None:
        """Methods that nobody calls aren't written: torch would say nothing of them."""
        method = self.made.methods[name]
        if name not in reached:
            reached.add(name)
            for each in _called((*method.actions, *method.after)):
                self._reach(each, reached)

    # What there is

    def _name(self, stems: tuple[str, ...]) -> str:
        free = [stem for stem in stems if stem not in self._names]
        name = self.dice.pick(free) if free else f"{self.dice.pick(stems)}{len(self._names)}"
        self._names.add(name)
        return name

    def _holders(self) -> None:
        plan, dice = self.made, self.dice
        plan.fresh = dice.chance(0.15) and plan.entry not in ("library", "steps", "function")
        for stem, shape in (("w", "M"), ("bias", "V")):
            if stem == "w" or dice.chance(0.4):
                plan.weights[stem] = shape
        for _ in range(dice.weighted(((0, 2.0), (1, 5.0), (2, 2.0)))):
            kind = dice.weighted(
                (("plain", 4.0), ("recurrent", 2.0), ("buffered", 1.0), ("cached", 1.0), ("penalised", 1.0))
            )
            name = self._name(_NETS)
            plan.networks[name] = Network(name, kind, dice.pick(_LAYERS))
        if plan.fresh and not plan.networks:
            plan.fresh = False
        owners = [*plan.networks, *([] if plan.fresh else plan.weights)]
        plan.optimizers["optimizer"] = tuple(dice.some(owners, 1, len(owners)))
        if len(owners) > 1 and dice.chance(0.25):
            plan.optimizers["second_optimizer"] = tuple(dice.some(owners, 1, 2))
        if dice.chance(0.45):
            kind = dice.pick(("list", "list", "deque", "dict", "named", "memory"))
            plan.boxes[name] = Box(name := self._name(("losses", "buffer", "terms", "history")), kind)

    def _fields(self) -> list[str]:
        plan, dice = self.made, self.dice
        homes = (("self", 6.0), ("state", 1.0), ("record", 1.0), ("other", 1.0), ("local", 3.0), ("property", 0.7))
        for place in range(dice.number(2, 4)):
            shape = "S" if place == 0 else dice.weighted((("A", 5.0), ("S", 3.0), ("M", 1.0), ("V", 1.0)))
            name = self._name(_LOSSES if shape == "S" else _FIELDS)
            plan.fields[name] = Field(name, shape, dice.weighted(homes))
        for net in plan.networks.values():
            if net.state:
                shape = "S" if net.kind == "penalised" else "A"
                plan.fields[net.state] = Field(net.state, shape, "net")
        return list(plan.fields)

    def _begin(self, name: str) -> None:
        plan, dice, kind = self.made, self.dice, self.made.fields[name]
        if kind.home == "property":
            plan.properties[name] = self._make(name, [], batch=False)
        elif plan.entry != "steps" and kind.home in ("self", "record") and dice.chance(0.3 if plan.fresh else 0.2):
            plan.begun[name] = self._make(name, [], batch=plan.fresh)
        elif kind.home == "self" and dice.chance(0.12):
            plan.begun[name] = None

    # Single actions

    def _make(self, name: str, readable: list[str], *, batch: bool = True, lazily: bool = False) -> Make:
        """A tensor from a weight, a network or a field, and perhaps others."""
        plan, dice = self.made, self.dice
        scope = Scope()
        chosen = dice.some(readable, 0, 2) if readable else []
        for each in chosen:
            scope.variables.append(Variable(f"§{each}§", plan.fields[each].shape, Live.YES))
        for each, shape in plan.weights.items():
            if not plan.fresh:
                scope.variables.append(Variable(f"§{each}§", shape, Live.YES, leaf=True))
        if batch:
            scope.variables.append(Variable("x", "A", Live.NO, light=True))
            for each in plan.networks:
                scope.variables.append(Variable(f"§{each}§(x)", "A", Live.YES))
        scope.callables = [Operation((), "A", f"§{each}§({{A}})", live=True) for each in plan.networks]
        own = [v for v in scope.variables if v.live is Live.YES]
        called = [v for v in own if v.name.endswith("(x)")]
        own = called if called and dice.chance(0.45) else own
        wish = Wish(must=dice.pick(own)) if own and dice.chance(0.8) else Wish(live=True)
        if chosen and dice.chance(0.6):
            wish = Wish(must=scope.variables[0])
        written = expression(self.pen, scope, plan.fields[name].shape, wish, dice.number(1, 2))
        named = re.findall(r"§([\w.]+)§", written.text)
        reads = tuple(dict.fromkeys(each for each in named if each in plan.fields))
        weights = tuple(dict.fromkeys(each for each in named if each in plan.weights or each in plan.networks))
        return Make(name, written.text, reads, weights, not written.light, lazily)

    def _cut(self, name: str) -> Cut:
        kind = self.made.fields[name]
        if kind.home != "net":
            forms = ["{} = {}.detach()", "{} = {}.detach()", "{} = {}.data", f"{{}} = torch.zeros({SIZES[kind.shape]})"]
            return Cut(name, self.dice.pick(forms))
        net = self.made.networks[name.partition(".")[0]]
        forms = {"cached": ["§net§.reset()"], "penalised": ["{} = {}.detach()"],
                 "buffered": ["§net§.reset()", "for buffer in §net§.buffers():\n    buffer.detach_()",
                              "for name, buffer in §net§.named_buffers():\n    buffer.zero_().detach_()"],
                 "recurrent": ["§net§.reset()", "§net§.detach_hidden()", "{} = {}.detach()"]}[net.kind]  # fmt: skip
        return Cut(name, self.dice.pick(forms).replace("§net§", f"§{net.name}§"))

    def _walk(self, readable: list[str]) -> Walk:
        dice, plan = self.dice, self.made
        keep = dice.weighted((("", 6.0), ("retain_graph=True", 3.0), ("flag", 1.0)))
        if keep == "flag":
            keep = f"retain_graph=§{dice.pick(plan.flags)}§" if plan.flags else ""
        if plan.boxes and dice.chance(0.3):
            return Walk((dice.pick(list(plan.boxes)),), dice.pick(("sum", "each", "roots")), keep)
        scalars = [name for name in readable if plan.fields[name].shape == "S"]
        root = dice.pick(scalars if scalars and dice.chance(0.8) else readable)
        if len(readable) > 1 and dice.chance(0.2):
            return Walk((root, dice.pick(readable)), dice.pick(("sum", "roots")), keep)
        return Walk((root,), dice.weighted((("sum", 5.0), ("function", 1.0), ("grad", 0.5))), keep)

    def _nudge(self) -> Nudge:
        plan, dice = self.made, self.dice
        weight = dice.pick([*plan.networks, *([] if plan.fresh else plan.weights)])
        if weight in plan.networks:
            form, bumps = dice.pick((("for p in {}.parameters():\n    p.sub_(0.01)", True),
                                     ("for name, p in {}.named_parameters():\n    p.add_(0.01)", True),
                                     ("for p in {}.parameters():\n    p.data.mul_(0.99)", False)))  # fmt: skip
        else:
            form, bumps = dice.pick((("{}.sub_(0.01)", True), ("{}.mul_(0.99)", True), ("{}.data.sub_(0.01)", False)))
        return Nudge(weight, form, bumps)

    # Methods

    def _kept(self) -> list[str]:
        return [name for name, field in self.made.fields.items() if field.home != "local"]

    def _worker(self) -> None:
        plan, dice = self.made, self.dice
        locals_ = [name for name, field in plan.fields.items() if field.home == "local"]
        unmade = [name for name in locals_ if not any(name in m.gives for m in plan.methods.values())]
        readable = self._kept()
        kind = dice.weighted((("make", 5.0), ("update", 4.0), ("reset", 2.0), ("nudge", 0.5), ("yields", 0.4)))
        if unmade and (kind == "make" or dice.chance(0.5)):
            return self._maker(unmade, readable)
        taken = [name for name in locals_ if name not in unmade and dice.chance(0.5)]
        actions: list[Action] = []
        if kind == "yields":
            makes = tuple(
                self._make(name, readable)
                for name in dice.some(list(plan.fields), 2, 3)
                if plan.fields[name].home == "self"
            )
            makes = tuple(make for make in makes if plan.fields[make.field].shape == "S")
            if makes:
                return self._add(Method(self._name(("losses_of", "each_loss", "objectives")), makes, "yields"))
        stems = {"make": _WORKERS, "update": _UPDATES}.get(kind, _RESETS)
        if kind in ("make", "yields"):
            for name in dice.some(
                [n for n in readable if plan.fields[n].home in ("self", "state", "record", "other")], 1, 2
            ):
                actions.append(
                    self._make(name, readable + taken, lazily=name in plan.begun and plan.begun[name] is None)
                )
                actions += self._gathered(name)
        elif kind == "update" and readable + taken:
            actions += self._updating(readable, taken)
        elif kind == "nudge":
            actions.append(self._nudge())
        else:
            fit = [n for n in readable if plan.fields[n].home != "property"]
            actions += [self._cut(name) for name in dice.some(fit, 1, 2)]
            actions += [Clear(box, "") for box in plan.boxes if dice.chance(0.5)]
        actions = self._dressed(actions)
        takes = tuple(name for name in taken if name in _named(tuple(actions)))
        self._add(Method(self._name(stems), tuple(actions), takes=takes), settled=False)
        return None

    def _maker(self, unmade: list[str], readable: list[str]) -> None:
        """A method that returns what it makes."""
        dice = self.dice
        gives = tuple(dice.some(unmade, 1, 3))
        actions: list[Action] = []
        for name in gives:
            actions.append(self._make(name, readable + [m.field for m in actions if isinstance(m, Make)]))
        packed = dice.pick(("tuple", "tuple", "dict", "named", "record"))
        self._add(Method(self._name(_WORKERS), tuple(actions), gives=gives, packed=packed))

    def _gathered(self, name: str) -> list[Action]:
        boxes = list(self.made.boxes)
        return [Gather(self.dice.pick(boxes), name, self.dice.chance(0.25))] if boxes and self.dice.chance(0.6) else []

    def _updating(self, readable: list[str], taken: list[str]) -> list[Action]:
        plan, dice = self.made, self.dice
        actions: list[Action] = []
        scalars = [n for n in readable if plan.fields[n].shape == "S" and plan.fields[n].home == "self"]
        if scalars and dice.chance(0.5):
            actions.append(self._make(dice.pick(scalars), readable + taken))
            root: list[str] = [actions[-1].field] if isinstance(actions[-1], Make) else readable
            actions.append(self._walk(root if dice.chance(0.8) else readable + taken))
        else:
            actions.append(self._walk(taken or readable))
        if dice.chance(0.3):
            actions.append(self._walk(readable + taken))
        if dice.chance(0.5):
            actions.append(Step(dice.pick(list(plan.optimizers)), dice.chance(0.7)))
        if dice.chance(0.25):
            fit = [n for n in readable if plan.fields[n].home != "property"]
            actions += [self._cut(dice.pick(fit))] if fit else []
        if plan.boxes and dice.chance(0.4):
            actions += [Clear(box, "") for box in plan.boxes]
        return actions

    def _dressed(self, actions: list[Action]) -> list[Action]:
        """The same, with branches, loops and exceptions around some of it."""
        plan, dice = self.made, self.dice
        if not actions:
            return actions
        at = dice.number(0, len(actions) - 1)
        body, rest = (actions[at],), actions[at + 1 :]
        if plan.flags and dice.chance(0.25):
            test = Test(dice.pick(plan.flags), dice.chance(0.4))
            if dice.chance(0.25) and rest:
                return [*actions[:at], Branch(test, body, tuple(rest), early=True)]
            return [*actions[:at], Branch(test, body), *rest]
        if dice.chance(0.08):
            return [*actions[:at], Branch(Test("", dice.chance(0.2), every=2), body), *rest]
        if dice.chance(0.08):
            return [
                *actions[:at],
                Loop(dice.pick(("for _ in range(2):", "for epoch in range(§epochs§):")), 2, body),
                *rest,
            ]
        if plan.flags and dice.chance(0.1):
            error = dice.pick(_ERRORS)
            return [*actions[:at], Try(body, dice.pick(plan.flags), error, tuple(rest[:1])), *rest[1:]]
        if dice.chance(0.05):
            return [
                *actions[:at],
                Try(
                    body,
                    "",
                    dice.pick(("RuntimeError", "Exception", "ValueError")),
                    (),
                    dice.pick(("raise", "raise", "")),
                ),
                *rest,
            ]
        if dice.chance(0.1):
            readable = [n for n in self._kept() if plan.fields[n].home == "self"]
            return [*actions, Say(dice.pick(readable))] if readable else actions
        return actions

    def _add(self, method: Method, settled: bool = True) -> None:
        """With its home: in the class, its base, both, a callback, a function; makers and generators stay in the class."""
        dice, plan = self.dice, self.made
        if not settled and not method.takes:
            method.home = dice.weighted(
                (("self", 5.0), ("base", 2.0), ("split", 1.5), ("callback", 0.7), ("function", 0.7), ("context", 0.5))
            )
            if method.home == "split":
                method.at = dice.number(0, len(method.actions))
            if method.home == "context":
                at = dice.number(0, len(method.actions))
                method.actions, method.after = method.actions[:at], method.actions[at:]
            if any(isinstance(each, Branch) and each.early for each in method.actions) and method.home in (
                "split",
                "context",
            ):
                method.home, method.actions, method.after = "self", (*method.actions, *method.after), ()
        elif method.home == "self":
            method.home = dice.weighted((("self", 4.0), ("base", 1.0)))
        every = any(isinstance(each, Branch) and each.test.every for each in (*method.actions, *method.after))
        method.counts = every
        if dice.chance(0.08) and method.home in ("self", "base"):
            method.decorator = "logged"
        plan.methods[method.name] = method

    def _step(self) -> None:
        """The methods that call the others, and what the run calls."""
        plan, dice = self.made, self.dice
        names = list(plan.methods)
        lower: list[str] = []
        if len(names) > 3 and dice.chance(0.4):
            lower = [self._name(("forward_pass", "inner_step", "run_phase"))]
            self._orchestrator(lower[0], dice.some(names, 2, 3))
        if dice.chance(0.8) or plan.entry == "steps":
            name = self._name(("step", "train_step", "run_batch", "train_batch"))
            order = [*lower, *(n for n in names if dice.chance(0.85))] or names
            self._orchestrator(name, order if dice.chance(0.6) else dice.some(order, 1, len(order)))
            plan.top = (name,)
        else:
            free = [n for n in [*lower, *names] if not plan.methods[n].takes and not plan.methods[n].gives
                    and plan.methods[n].home in ("self", "base", "split")]  # fmt: skip
            plan.top = tuple(dice.some(free, 1, 3))
        rest = [n for n in names if n not in plan.top and not plan.methods[n].takes and not plan.methods[n].gives
                and plan.methods[n].home in ("self", "base", "split")]  # fmt: skip
        if rest and not plan.fresh and plan.entry != "steps" and dice.chance(0.2):
            plan.last = (dice.pick(rest),)

    def _orchestrator(self, name: str, order: list[str]) -> None:
        plan, dice = self.made, self.dice
        actions: list[Action] = []
        known: set[str] = set()
        for each in order:
            method = plan.methods[each]
            if not known.issuperset(method.takes):
                continue
            if method.home == "yields":
                actions.append(Walk((each,), "yielded", dice.pick(("", "retain_graph=True"))))
                continue
            if method.home == "context":
                actions.append(Call(each, (actions.pop(),) if actions and not _gives(plan, actions[-1]) else ()))
                continue
            actions.append(Call(each))
            known.update(method.gives)
            scalars = [n for n in method.gives if plan.fields[n].shape == "S"]
            if scalars and dice.chance(0.3):
                actions.append(Walk((dice.pick(scalars),), "sum", dice.pick(("", "", "retain_graph=True"))))
            if dice.chance(0.1) and not method.gives:
                actions.append(Call(each))
        plain = [at for at, action in enumerate(actions) if not _gives(plan, action)]
        if plain and dice.chance(0.5):
            at = dice.pick(plain)
            actions[at : at + 1] = self._dressed([actions[at]])
        if dice.chance(0.2):
            actions.append(Step("optimizer"))
        home = dice.weighted((("self", 3.0), ("base", 2.0)))
        counts = any(isinstance(each, Branch) and each.test.every for each in actions)
        plan.methods[name] = Method(name, tuple(actions), home, counts=counts, orchestrates=True)


def _gives(plan: Plan, action: Action) -> bool:
    return isinstance(action, Call) and bool(plan.methods[action.method].gives)


def _called(actions: tuple[Action, ...]) -> set[str]:
    """The methods that some actions call."""
    found: set[str] = set()
    for action in actions:
        match action:
            case Call(method=name, body=body):
                found |= {name} | _called(body)
            case Walk(roots=roots, how="yielded"):
                found.add(roots[0])
            case Branch(body=body, other=other) | Try(body=body, handler=other):
                found |= _called(body) | _called(other)
            case Loop(body=body):
                found |= _called(body)
    return found


def _named(actions: tuple[Action, ...]) -> set[str]:
    """The fields that some actions name."""
    found: set[str] = set()
    for action in actions:
        match action:
            case Make(field=name, reads=reads):
                found |= {name, *reads}
            case Walk(roots=roots):
                found |= set(roots)
            case Cut(field=name) | Gather(field=name) | Say(field=name):
                found.add(name)
            case Branch(body=body, other=other):
                found |= _named(body) | _named(other)
            case Try(body=body, handler=handler):
                found |= _named(body) | _named(handler)
            case Loop(body=body):
                found |= _named(body)
    return found
