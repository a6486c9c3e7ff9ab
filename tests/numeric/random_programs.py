"""Random torch programs as text: operations, views, in-place changes, walks of all kinds, optimisers.

A program is a list of statements. The maker tracks the shapes of its variables, so that nearly all statements are
sound but for what autograd has to say about them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
Shape = tuple[int, ...]

UNARY = [
    "{x}.sin()", "{x}.cos()", "{x}.tanh()", "{x}.sigmoid()", "{x}.relu()", "({x} * 0.1).exp()", "{x}.abs()",
    "({x} ** 2)", "({x}.abs() + 1).log()", "({x} * {x} + 1).sqrt()", "{x}.square()", "(-{x})", "({x} * 1.5)", "({x} / 3)",
    "({x} + 2)", "(1 - {x})", "(2 / ({x} * {x} + 1))", "{x}.clamp(-1, 1)", "{x}.clone()", "{x}.neg()", "{x}.pow(3)",
    "({x}.abs() + 1).rsqrt()", "({x}.abs() + 1).log1p()", "({x} * 0.1).expm1()", "{x}.erf()", "F.softplus({x})",
    "F.gelu({x})", "F.leaky_relu({x}, 0.1)", "F.elu({x})", "F.silu({x})", "F.selu({x})", "F.hardtanh({x})",
    "F.logsigmoid({x})", "({x}.abs() + 1).reciprocal()", "{x}.contiguous()", "{x}.double()", "({x} * {x} + 1).pow(1.5)",
    "torch.where({x} > 0.123, {x}, {x} * 0.5)", "{x}.masked_fill({x} > 1, 0.0)", "{x}.detach()", "Double.apply({x})",
    "Keeping.apply({x})", "{x}.atan()", "(({x} * 1.37) % 2)", "({x} * 1.37).round()", "{x}.sign()", "F.dropout({x}, 0.0)", "({x} * 1.37).ceil()",
    "(2 ** ({x} * 0.1))", "{x}.flip(0)", "{x}.cumsum(0)", "F.gelu({x}, approximate='tanh')",
    "torch.lerp({x}, {x} * 2, 0.3)", "{x}.roll(1, 0)",
]  # fmt: skip
BINARY = [
    "({x} + {y})", "({x} - {y})", "({x} * {y})", "({x} / ({y} * {y} + 1))", "torch.maximum({x}, {y})",
    "torch.minimum({x}, {y})", "torch.add({x}, {y}, alpha=2)", "torch.sub({x}, {y}, alpha=3)", "torch.where({x} > {y}, {x}, {y})",
    "(({x} * {x} + 1) ** ({y} * 0.1))", "torch.atan2({x}, {y} * {y} + 1)", "{x}.mul({y})", "torch.addcmul({x}, {x}, {y}, value=0.5)",
    "torch.addcdiv({x}, {x}, {y} * {y} + 1)", "torch.lerp({x}, {y}, {x} * 0.1)",
]  # fmt: skip
REDUCE_ALL = [
    "{x}.sum()", "{x}.mean()", "({x} * 0.5).prod()", "{x}.max()", "{x}.min()", "{x}.norm()", "({x} ** 2).mean()",
    "{x}.logsumexp({dims})", "{x}.amax()", "{x}.abs().sum()", "F.mse_loss({x}, {x} * 0.5)", "F.l1_loss({x}, torch.zeros({s}, dtype=torch.float64))",
    "F.smooth_l1_loss({x}, torch.ones({s}, dtype=torch.float64))", "F.mse_loss({x}, torch.zeros({s}, dtype=torch.float64), reduction='sum')",
    "F.binary_cross_entropy_with_logits({x}, torch.ones({s}, dtype=torch.float64))", "F.binary_cross_entropy({x}.sigmoid(), torch.ones({s}, dtype=torch.float64) * 0.3)",
    "F.huber_loss({x}, torch.ones({s}, dtype=torch.float64))", "{x}.median()", "{x}.norm(1)", "{x}.norm(3)",
]  # fmt: skip
REDUCE_DIM = [
    "{x}.sum({d})", "{x}.mean({d})", "{x}.max({d}).values", "{x}.min({d})[0]", "{x}.amax({d})", "({x} * 0.5).prod({d})",
    "{x}.logsumexp({d})", "{x}.norm(2, {d})", "{x}.select({d}, 0)", "({x} + 0).median({d}).values", "{x}.unbind({d})[0]",
]  # fmt: skip
KEEP_DIM = [
    "{x}.softmax({d})", "{x}.log_softmax({d})", "{x}.sort({d}).values", "{x}.cumsum({d})", "({x} - {x}.mean({d}, keepdim=True))",
    "F.normalize({x}, dim={d})", "({x} / ({x}.abs().sum({d}, keepdim=True) + 1))", "({x} * 0.5).cumprod({d})",
    "torch.cat([{x}, {x}], {d}).narrow({d}, 0, {n})", "{x}.index_select({d}, torch.arange({n}))", "{x}.split(1, {d})[0].expand({s})",
    "F.layer_norm({x}, {x}.shape[-1:])", "{x}.gather({d}, torch.zeros({s}, dtype=torch.int64))", "{x}.flip({d})",
]  # fmt: skip
WINDOWS = [
    ("F.pad({x}, (1, 0), mode='reflect')", (1,)), ("F.pad({x}, (1, 1), mode='reflect').narrow(-1, 0, {n})", (0,)),
    ("F.pad({x}, (2, -1), mode='replicate')", (1,)), ("F.pad({x}, (1, 0), mode='circular')", (1,)),
    ("F.pad({x}, (1, -1), value=0.3)", (0,)), ("F.avg_pool1d({x}, 2, 1)", (-1,)), ("F.avg_pool1d({x}, 3, 1, 1)", (0,)),
    ("F.avg_pool1d({x}, 3, 1, 1, count_include_pad=False)", (0,)), ("F.adaptive_avg_pool1d({x}, {n} - 1)", (-1,)),
    ("F.avg_pool1d({x}, 2, 2, 1, ceil_mode=True).sum(-1, keepdim=True).expand({s})", (0,)),
]  # fmt: skip
"""Of lines of two elements or more, and by how much these grow; `n` is how many they have."""
PICTURES = [
    ("F.pad({x}, (1, 0, 0, 0), mode='reflect')", (0, 1)), ("F.pad({x}, (1, 0, 1, 1), mode='replicate')", (2, 1)),
    ("F.pad({x}, (1, 0, 1, 0), mode='circular')", (1, 1)), ("F.avg_pool2d({x}, (1, 2), 1)", (0, -1)),
    ("F.avg_pool2d({x}, (1, 2), 1, (0, 1), divisor_override=3)", (0, 1)), ("F.avg_pool2d({x}, 3, 1, 1)", (0, 0)),
    ("F.adaptive_avg_pool2d({x}, ({m} + 1, {n} - 1))", (1, -1)), ("nn.ReflectionPad2d((0, 1, 0, 0))({x})", (0, 1)),
    ("nn.AvgPool2d((1, 3), 1, (0, 1), count_include_pad=False)({x})", (0, 0)),
]  # fmt: skip
"""The same of pictures of `m` times `n`, at least 1 by 2."""
IN_PLACE = [
    "{t}.add_(1)", "{t}.mul_(2)", "{t}.zero_()", "{t}.sub_(0.5)", "{t}.div_(2)", "{t}.relu_()", "{t}.sigmoid_()", "{t}.tanh_()",
    "{t}.mul_({y})", "{t}.add_({y})", "{t}.copy_({y})", "{t}.sub_({y}, alpha=2)", "{t}.div_({y} * {y} + 1)", "{t}.neg_()",
    "{t}.fill_(0.5)", "{t}.clamp_(-1, 1)", "{t} += {y}", "{t} *= {y}", "{t} -= 1", "{t}.pow_(2)", "{t}.sin_()", "{t}.abs_()",
    "{t}.detach().mul_(2)", "{t}.data.mul_(2)", "{t}.data.zero_()", "{t}.masked_fill_({y} > 0.123, 0.3)", "{t}.lerp_({y}, 0.5)",
    "{t}.addcmul_({y}, {y})", "F.relu({t}, inplace=True)", "{t}.exp_()", "{t}.square_()", "{t}.detach_()", "{t}.requires_grad_()",
]  # fmt: skip
VALUES = [-1.532, -0.677, 0.348, 0.759, 1.183, 1.666]
"""What leaves hold: no sum or mean of up to nine of them is 0 or 1, where rounding would decide over signs and bounds."""
PREAMBLE = """\
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x
class Keeping(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * 3
    @staticmethod
    def backward(ctx, g):
        return g * 3
"""
OPTIMISERS = [
    "SGD({p}, lr=0.1)", "SGD({p}, lr=0.05, momentum=0.9)", "SGD({p}, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1)",
    "Adam({p}, lr=0.01)", "AdamW({p}, lr=0.01)", "RMSprop({p}, lr=0.01)", "Adagrad({p}, lr=0.1)", "Adam({p}, lr=0.01, amsgrad=True, weight_decay=0.1)",
    "RMSprop({p}, lr=0.01, momentum=0.5, centered=True)", "Adadelta({p})", "Adamax({p})",
]  # fmt: skip


@dataclass
class Program:
    """Statements, and the names that hold tensors at the end."""

    statements: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(self.statements)

    def __repr__(self) -> str:
        return "Program:\n" + self.text


class Maker:
    """Makes one program by picking among possibilities; who picks decides whether hypothesis can shrink it."""

    def __init__(self, pick: Callable[[Sequence[Any]], Any], length: int) -> None:
        self.pick, self.length = pick, length
        self.program = Program()
        self.shapes = self.program.shapes
        self.scalars: list[str] = []
        self.computed: list[str] = []
        self.memory: dict[str, int] = {}  # names with the same number may share memory
        self.count = 0
        self.optimiser = False

    def make(self) -> Program:
        for name in "abc"[: self.pick([2, 3])]:
            shape = self.pick([(2, 3), (3,), (2, 3), (3, 3), (2, 1, 3), ()])
            values = self._values(shape)
            needs = self.pick([True, True, True, False]) or name == "a"
            self._say(f"{name} = torch.tensor({values}, dtype=torch.float64, requires_grad={needs})")
            self.shapes[name] = shape
            self.program.leaves.append(name)
        kinds: list[Callable[[], None]] = [self._compute] * 9 + [self._view] * 4 + [self._loss] * 4
        kinds += (
            [self._change] * 4
            + [self._backward_pass] * 6
            + [self._partial] * 3
            + [self._assign, self._rare, self._optimise, self._block]
        )
        for _ in range(self.length):
            self.pick(kinds)()
        self._loss()
        self._backward_pass()
        return self.program

    # -- parts

    def _say(self, statement: str) -> None:
        self.program.statements.append(statement)

    def _values(self, shape: Shape) -> Any:
        if not shape:
            return self.pick(VALUES)
        return [self._values(shape[1:]) for _ in range(shape[0])]

    def _name(self, shape: Shape) -> str:
        self.count += 1
        name = f"t{self.count}"
        self.shapes[name] = shape
        self.computed.append(name)
        return name

    def _any(self) -> str:
        recent = list(self.shapes)[-6:]
        found: str = self.pick(list(self.shapes)[:3] + recent)
        return found

    def _share(self, name: str, other: str) -> None:
        """Note that two names may share memory, and whoever shares with them."""
        number = self.memory.setdefault(other, len(self.memory))
        old = self.memory.get(name)
        self.memory[name] = number
        self.memory.update({n: number for n, m in self.memory.items() if m == old and old is not None})

    def _fitting(self, shape: Shape, target: str) -> str:
        """A variable that broadcasts to `shape`; `target` is written meanwhile, so none that may be a part of it."""
        own = self.memory.get(target, target)
        apart = [name for name in self.shapes if name == target or self.memory.get(name, name) != own]
        fitting = [name for name in apart if _broadcast(self.shapes[name], shape) == shape]
        found: str = self.pick(fitting[-5:]) if fitting else "1.5"
        return found

    def _expression(self) -> tuple[str, Shape]:
        x = self._any()
        shape = self.shapes[x]
        kind = self.pick(["unary", "unary", "binary", "binary", "matmul", "dim", "keep", "all", "nested", "window"])
        if kind == "binary":
            y = self._any()
            joint = _broadcast(shape, self.shapes[y])
            if joint is not None:
                return self.pick(BINARY).format(x=x, y=y), joint
        if kind == "matmul":
            return self._product(x, shape)
        if kind in ("dim", "keep") and shape:
            d = self.pick(list(range(len(shape))))
            if kind == "dim":
                return self.pick(REDUCE_DIM).format(x=x, d=d), shape[:d] + shape[d + 1 :]
            return self.pick(KEEP_DIM).format(x=x, d=d, n=shape[d], s=shape), shape
        if kind == "all":
            return self.pick(REDUCE_ALL).format(x=x, s=shape, dims=list(range(len(shape))) or 0), ()
        if kind == "window" and len(shape) in (2, 3) and min(shape) > 0 and 1 < shape[-1] < 9:
            form, growth = self.pick(WINDOWS + PICTURES if len(shape) == 3 else WINDOWS)
            keep = shape[: len(shape) - len(growth)]
            made = (*keep, *(n + more for n, more in zip(shape[len(keep) :], growth)))
            return form.format(x=x, n=shape[-1], m=shape[-2], s=shape), made
        if kind == "nested":
            inner = self.pick(UNARY).format(x=x)
            return self.pick(UNARY[:24]).format(x=inner) if shape else inner, shape
        template = self.pick(UNARY)
        return (template if shape or not _along_first(template) else "{x}.sin()").format(x=x), shape

    def _product(self, x: str, shape: Shape) -> tuple[str, Shape]:
        for y in reversed(list(self.shapes)[-8:]):
            other = self.shapes[y]
            if len(shape) == 2 and len(other) == 2 and shape[1] == other[0]:
                form = self.pick(
                    [
                        "({x} @ {y})",
                        "torch.mm({x}, {y})",
                        "torch.einsum('ij,jk->ik', {x}, {y})",
                        "F.linear({x}, {y}.t())",
                    ]
                )
                return form.format(x=x, y=y), (shape[0], other[1])
            if len(shape) == 2 and len(other) == 1 and shape[1] == other[0]:
                return self.pick(["({x} @ {y})", "torch.mv({x}, {y})"]).format(x=x, y=y), shape[:1]
            if len(shape) == 1 and len(other) == 1 and shape == other:
                return self.pick(["({x} @ {y})", "torch.dot({x}, {y})", "torch.outer({x}, {y}).sum(0)[0]"]).format(
                    x=x, y=y
                ), ()
            if len(shape) == 3 and len(other) == 2 and shape[2] == other[0]:
                return f"({x} @ {y})", (*shape[:2], other[1])
        return f"({x} * 2)", shape

    # -- statements

    def _compute(self) -> None:
        self._say(self._computation())

    def _computation(self) -> str:
        """A new name for an expression; since some are views, it may share memory with all that they are made of."""
        expression, shape = self._expression()
        name = self._name(shape)
        for other in [n for n in self.shapes if n != name and n in expression]:
            self._share(name, other)
        return f"{name} = {expression}"

    def _view(self) -> None:
        x = self._any()
        shape = self.shapes[x]
        forms: list[tuple[str, Shape]] = [
            ("{x}.unsqueeze(0)", (1, *shape)),
            ("{x}.view_as({x})", shape),
            ("{x}[...]", shape),
        ]
        if shape:
            total = _total(shape)
            forms += [
                ("{x}.reshape(-1)", (total,)),
                ("{x}[0]", shape[1:]),
                ("{x}[-1]", shape[1:]),
                ("{x}.flatten()", (total,)),
            ]
            forms += [
                ("{x}[0:1]", (1, *shape[1:])),
                ("{x}.narrow(0, 0, 1)", (1, *shape[1:])),
                ("{x}.chunk(2, 0)[0]", (-(-shape[0] // 2), *shape[1:])),
            ]
            forms += [
                ("{x}.detach()", shape),
                ("{x}.expand(2, *{x}.shape)", (2, *shape)),
                ("{x}.view(-1)", (total,)),
                ("{x}[:, None]", (shape[0], 1, *shape[1:])),
            ]
            forms += [
                ("{x}[torch.tensor([0])]", (1, *shape[1:])),
                ("{x}[[0, 0]]", (2, *shape[1:])),
                ("{x}.split(1, 0)[0]", (1, *shape[1:])),
            ]
        if len(shape) == 2:
            forms += [
                ("{x}.t()", shape[::-1]),
                ("{x}.T", shape[::-1]),
                ("{x}[:, 0]", shape[:1]),
                ("{x}[0, :2]", (2,)) if shape[1] > 1 else ("{x}[0]", shape[1:]),
            ]
            forms += [
                ("{x}.transpose(0, 1)", shape[::-1]),
                ("{x}.diagonal()", (min(shape),)),
                ("{x}[:, ::2]", (shape[0], -(-shape[1] // 2))),
            ]
        if len(shape) == 3:
            forms += [
                ("{x}.permute(2, 0, 1)", (shape[2], *shape[:2])),
                ("{x}.squeeze()", tuple(n for n in shape if n != 1)),
            ]
        form, made = self.pick(forms)
        name = self._name(made)
        self._share(name, x)
        self._say(f"{name} = {form.format(x=x)}")

    def _change(self) -> None:
        x = self.pick(self.computed[-6:]) if self.computed and self.pick([True] * 5 + [False]) else self._any()
        self._say(self.pick(IN_PLACE).format(t=x, y=self._fitting(self.shapes[x], x)))

    def _assign(self) -> None:
        indexed = [name for name in self.computed if self.shapes[name]]
        if not indexed:
            return
        x = self.pick(indexed[-5:])
        shape = self.shapes[x]
        place, inner = self.pick(
            [("0", shape[1:]), ("-1:", (1, *shape[1:])), ("...", shape), ("torch.tensor([0])", (1, *shape[1:]))]
        )
        self._say(f"{x}[{place}] = {self.pick([self._fitting(inner, x), '0.25'])}")

    def _loss(self) -> None:
        x = self.pick((self.computed or list(self.shapes))[-5:])
        form = self.pick(
            ["{x}.sum()", "{x}.pow(2).mean()", "({x} * {x}).sum()", "{x}.mean()", "({x} + 1).sum()", "{x}.sin().sum()"]
        )
        self.count += 1
        name = f"loss{self.count}"
        self.shapes[name] = ()
        self.scalars.append(name)
        self._say(f"{name} = {form.format(x=x)}")

    def _root(self) -> str:
        if not self.scalars:
            self._loss()
        found: str = self.pick(self.scalars[-3:])
        return found

    def _backward_pass(self) -> None:
        root = self._root()
        forms = [f"{root}.backward()"] * 3 + [f"{root}.backward(retain_graph=True)"] * 3
        forms += [f"{root}.backward(create_graph=True)", f"{root}.backward(retain_graph=True, inputs=[a])"]
        forms += [f"torch.autograd.backward([{root}, {self._root()}])", f"{root}.backward(inputs=[{self._any()}])"]
        forms += [f"torch.autograd.backward([{root}, {self._root()}], retain_graph=True)"]
        x = self._any()
        forms += [
            f"{x}.backward(torch.ones({self.shapes[x]}, dtype=torch.float64), retain_graph=True)",
            f"{x}.backward()",
        ]
        self._say(self.pick(forms))

    def _partial(self) -> None:
        root, x = self._root(), self._any()
        flags = self.pick(
            [
                "",
                ", retain_graph=True",
                ", create_graph=True",
                ", create_graph=True",
                ", create_graph=True, retain_graph=False",
            ]
        )
        unused = self.pick(["", ", allow_unused=True"])
        name = self._name(self.shapes[x])
        self._say(f"{name} = torch.autograd.grad({root}, {x}{flags}{unused})[0]")

    def _rare(self) -> None:
        x, leaf = self._any(), self.pick(self.program.leaves)
        sound = f"({x}.grad_fn or {x}._base is None)"  # on other tensors this crashes torch 2.13.0
        forms = [
            f"{x}.retain_grad()",
            f"{sound} and {x}.register_hook(lambda g: g * 2)",
            f"{leaf}.grad = None",
            f"{leaf}.requires_grad_()",
        ]
        forms += [
            f"{leaf}.requires_grad_(False)",
            f"{leaf}.data = {leaf}.data * 1.1",
            f"{sound} and {x}.register_hook(lambda g: None)",
        ]
        forms += [
            f"{x} = {x}.detach().requires_grad_()",
            f"{leaf}.grad.zero_()",
            f"{x}.item()",
            f"torch.set_grad_enabled({self.pick([True, True, False])})",
        ]
        self._say(self.pick(forms))

    def _block(self) -> None:
        x = self._any()
        inner = self.pick(["compute", "change", "walk"])
        mode = self.pick(
            [
                "torch.no_grad()",
                "torch.no_grad()",
                "torch.enable_grad()",
                "torch.inference_mode()",
                "torch.set_grad_enabled(False)",
            ]
        )
        if inner == "change":
            statement = self.pick(IN_PLACE[:30]).format(t=x, y=self._fitting(self.shapes[x], x))
        elif inner == "walk":
            statement = f"{self._root()}.backward(retain_graph=True)"
        else:
            statement = self._computation()
        self._say(f"with {mode}:\n    {statement}")

    def _optimise(self) -> None:
        if not self.optimiser:
            self.optimiser = True
            made = self.pick(OPTIMISERS).format(p=f"[{', '.join(self.program.leaves)}]")
            self._say(f"opt = torch.optim.{made}")
            return
        self._say(self.pick(["opt.step()", "opt.step()", "opt.zero_grad()", "opt.zero_grad(set_to_none=False)"]))


def _along_first(template: str) -> bool:
    """Whether a template names dimension 0, which a scalar hasn't got."""
    return any(word in template for word in ("roll", "flip", "cumsum"))


def _broadcast(left: Shape, right: Shape) -> Shape | None:
    wide = max(len(left), len(right))
    a, b = (1,) * (wide - len(left)) + left, (1,) * (wide - len(right)) + right
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b)):
        return None
    return tuple(max(x, y) for x, y in zip(a, b))


def _total(shape: Shape) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


def make(seed: int, length: int = 12) -> Program:
    """The program of this seed."""
    source = random.Random(seed)
    return Maker(source.choice, length).make()
