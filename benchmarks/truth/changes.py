"""Statements that write into a tensor's memory: in-place operations, slices, updates by hand under no_grad."""

from __future__ import annotations

from benchmarks.truth.expressions import ANY, Wish, expression
from benchmarks.truth.operations import Operation
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Scope, Variable

_METHODS = (
    "{x}.add_({T})", "{x}.sub_({T})", "{x}.mul_({T})", "{x}.div_(2)", "{x}.mul_(0.5)", "{x}.add_(1.0)", "{x}.neg_()",
    "{x}.zero_()", "{x}.fill_(0.5)", "{x}.copy_({T})", "{x}.clamp_(-1, 1)", "{x}.relu_()", "{x}.sigmoid_()",
    "{x}.tanh_()", "{x}.exp_()", "{x}.abs_()", "{x}.square_()", "{x}.pow_(2)", "{x}.sin_()", "{x}.lerp_({T}, 0.1)",
    "{x}.addcmul_({T}, {T})", "{x}.normal_()", "{x}.uniform_(0, 1)", "F.relu({x}, inplace=True)", "torch.relu_({x})",
    "F.leaky_relu({x}, 0.1, inplace=True)", "{x}.clamp_min_(0.0)", "{x}.round_()", "{x}.data.mul_(2)",
    "{x}.detach().zero_()", "{x}.detach().add_(1)",
)  # fmt: skip
_SLICES = {
    "A": ("{x}[0] = {V}", "{x}[1:3] = 0.5", "{x}[:, 1] = {S}", "{x}[:3] = {M}", "{x}[2] *= 2", "{x}[1:] += {M}",
          "{x}[mask] = 0.0", "{x}[rows] = {M}", "{x}.masked_fill_(mask, 1.0)", "{x}[0].mul_({V})", "{x}[-1].zero_()",
          "{x}.t().mul_(2)", "{x}.view_as({x}).add_({A})", "{x}[...] = {A}", "{x}.scatter_(1, picks, {A})"),
    "M": ("{x}[0] = {V}", "{x}[:, 1] = {V}", "{x}[1] += {V}", "{x}.t().add_({M})", "{x}.diagonal().zero_()",
          "{x}.fill_diagonal_(0.0)"),
    "V": ("{x}[0] = {S}", "{x}[1:] = 0.0", "{x}[2] += 1", "{x}[rows] = {V}"),
    "S": (),
}  # fmt: skip
_SIGNS = ("+= {T}", "*= {T}", "-= {T}", "/= 2", "*= 2", "**= 2", "+= 1")
_UNDER_NO_GRAD = (
    "{x} -= 0.1 * torch.ones_like({x})", "{x}.mul_(0.99)", "{x}.clamp_(-1, 1)", "{x}.copy_(torch.randn_like({x}))",
    "{x}.add_(torch.randn_like({x}), alpha=0.01)", "{x}.zero_()",
)  # fmt: skip
_AROUND_AUTOGRAD = (
    "{x}.data -= 0.1", "{x}.data.mul_(0.9)", "{x}.data = {x}.data * 0.9", "{x}.grad = None", "nn.init.normal_({x})",
    "nn.init.zeros_({x})", "{x}.detach().sub_(0.1)", "{x}.data.copy_(torch.randn_like({x}))",
)  # fmt: skip


def change(pen: Pen, scope: Scope) -> None:
    """An in-place operation on a tensor; seldom on a leaf, which torch refuses."""
    bold = pen.dice.chance(0.04) and not scope.calm
    fit = [v for v in scope.variables if v.solid and (bold or not v.leaf)]
    if not bold and not pen.dice.chance(pen.slips * 4):
        fit = [v for v in fit if v.live is not Live.NO or v in scope.born]
    if not fit:
        return
    variable = pen.dice.pick(fit)
    kind = pen.dice.number(0, 3)
    if kind == 0 and (variable in scope.owned or variable.name.startswith("self.")):
        template = f"{{x}} {pen.dice.pick(_SIGNS)}"
    elif kind < 3 or not _SLICES[variable.shape]:
        template = pen.dice.pick(_METHODS)
    else:
        template = pen.dice.pick(_SLICES[variable.shape])
        pen.tag("view changed")
    pen.tag("in place")
    _write(pen, scope, variable, template)


def _write(pen: Pen, scope: Scope, variable: Variable, template: str) -> None:
    filled = template.replace("{x}", variable.name).replace("{T}", f"{{{variable.shape}}}")
    operation = Operation((), variable.shape, filled)
    operands = [expression(pen, scope, place, ANY, pen.dice.number(0, 1)) for place in operation.places]
    texts = [_apart(variable, template, operand.text) for operand in operands]
    pen.write(operation.filled(texts))
    if scope.grad and variable.live is Live.NO and any(operand.live is not Live.NO for operand in operands):
        variable.live, variable.light = Live.MAYBE, False
    if not pen.dice.chance(pen.slips):
        scope.spend()


def _apart(variable: Variable, template: str, text: str) -> str:
    """An operand that doesn't share the memory that is written, where torch refuses overlaps."""
    partial = "[" in template or ".t()" in template
    return f"torch.clone({text})" if partial and variable.name in text else text


def update(pen: Pen, scope: Scope) -> None:
    """Parameters moved by hand."""
    leaves = [v for v in scope.variables if v.leaf]
    if not leaves:
        return
    pen.tag("update by hand")
    leaf = pen.dice.pick(leaves)
    if pen.dice.chance(0.35):
        template = pen.dice.pick(_AROUND_AUTOGRAD)
        if "nn.init" in template and leaf.shape == "S":
            return
        pen.write(template.format(x=leaf.name))
    elif pen.dice.chance(0.5) or not leaf.name.isidentifier():
        _loop_update(pen, scope)
    else:
        methods = [one for one in _UNDER_NO_GRAD if "-=" not in one or leaf in scope.owned or scope.gives == "module"]
        with pen.page.block("with torch.no_grad():"):
            pen.write(pen.dice.pick(methods).format(x=leaf.name))
    scope.spend()


def _loop_update(pen: Pen, scope: Scope) -> None:
    """`for p in parameters: p -= lr * p.grad`."""
    leaves = [v.name for v in scope.variables if v.leaf]
    names = ", ".join(pen.dice.some(leaves, 2, 3))
    if scope.models and pen.dice.chance(0.5):
        source = f"{pen.dice.pick(scope.models)}.parameters()"
    else:
        source = f"[{names}]"
    with pen.page.block("with torch.no_grad():"), pen.page.block(f"for p in {source}:"):
        with pen.page.block("if p.grad is not None:"):
            pen.write(pen.dice.pick(("p -= 0.1 * p.grad", "p.sub_(p.grad, alpha=0.1)", "p.add_(-0.1 * p.grad)")))
        if pen.dice.chance(0.3):
            pen.write("p.grad = None")


_SHARING = {
    "A": (
        "{A}.reshape(4, 3)",
        "{A}.detach()",
        "{A}.flatten().reshape(4, 3)",
        "{A}.contiguous()",
        "{A}.to(torch.float32)",
        "{A}.float()",
        "{A}.unsqueeze(0).squeeze(0)",
        "{A}.squeeze()",
        "{A}.view_as({A})",
        "{A}.expand(4, 3)",
        "F.dropout({A}, p=0.0)",
        "nn.Identity()({A})",
        "{A}.clone()",
        "{A}[:]",
        "{A}[...]",
        "{A}.data",
        "{A}.t().t()",
        "torch.as_tensor({A})",
        "{A}.type_as({A})",
        "{A}[[0, 1, 2, 3]]",
        "{A}.cpu()",
    ),
    "M": ("{A}[:3]", "{M}.t()", "{M}.T", "{M}.transpose(0, 1)", "{A}.narrow(0, 0, 3)", "{M}.permute(1, 0)", "{A}[1:]", "{M}.triu()"),
    "V": ("{A}[0]", "{M}.diagonal()", "{M}.diag()", "{M}[1]", "{A}.select(0, 1)", "{M}[:, 2]", "torch.flatten({V})", "{M}[1, :]"),
    "S": ("{V}[0]", "{A}[0, 1]", "{V}.sum()", "{M}[2][0]"),
}  # fmt: skip
"""Expressions whose result may share its operand's memory."""


def share(pen: Pen, scope: Scope) -> None:
    """A tensor that may be a view of another, one of the two written, and perhaps something made between."""
    fit = [v for v in scope.variables if not v.leaf and v.solid]
    shape = pen.dice.pick("AAMVVS")
    templates = [one for one in _SHARING[shape] if any(f"{{{v.shape}}}" in one for v in fit)]
    if not templates:
        return
    template = pen.dice.pick(templates)
    base = pen.dice.pick([v for v in fit if f"{{{v.shape}}}" in template])
    name = pen.name("part")
    pen.tag("shared memory")
    pen.write(f"{name} = {template.replace(f'{{{base.shape}}}', base.name)}")
    live = Live.NO if "detach" in template or ".data" in template or not scope.grad else base.live
    part = scope.add(Variable(name, shape, live, light=base.light, solid=scope.grad, spent=base.spent))
    if live is Live.YES and pen.dice.chance(0.5):
        between = expression(pen, scope, "S", Wish(must=pen.dice.pick((base, part))))
        kept = pen.name("cost")
        pen.write(f"{kept} = {between.text}")
        scope.add(Variable(kept, "S", between.live))
    written = pen.dice.pick((base, part))
    if written.solid:
        _write(pen, scope, written, pen.dice.pick(_METHODS))
