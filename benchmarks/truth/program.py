"""A whole program from a seed: imports, flags, data, parameters, networks, helpers, and a body."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.truth import classes, definitions, idioms, scenes, statements, walks
from benchmarks.truth.classes import PARAMETERS
from benchmarks.truth.dice import Dice
from benchmarks.truth.layers import layers
from benchmarks.truth.operations import DATA, Operation
from benchmarks.truth.page import Page
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Scope, Variable

FLAGS = ("FLAG_A", "FLAG_B", "FLAG_C")
_OPTIMIZERS = (
    "SGD({}, lr=0.1)",
    "SGD({}, lr=0.1, momentum=0.9)",
    "Adam({}, lr=0.01)",
    "AdamW({})",
    "RMSprop({})",
    "Adagrad({}, lr=0.1)",
)


@dataclass(frozen=True)
class Generated:
    """A program, with the flags that a reader of its source can't know and the names of what it is made of."""

    name: str
    text: str
    flags: tuple[str, ...]
    tags: frozenset[str]
    rows: frozenset[str]


def generate(seed: str) -> Generated:
    """The program of a seed."""
    dice = Dice(seed)
    pen = Pen(dice, statements.block)
    pen.slips = dice.weighted(((0.0, 1.0), (0.15, 3.0), (0.3, 3.0), (0.7, 3.0)))
    pen.keeps = dice.weighted(((0.1, 3.0), (0.3, 3.0), (0.7, 1.0)))
    pen.room = dice.weighted(((20, 2.0), (40, 3.0), (70, 1.0)))
    scope = Scope()
    flags = FLAGS[: dice.weighted(((0, 5.0), (1, 3.0), (2, 2.0), (3, 1.0)))]
    scope.flags += flags
    _write(pen, scope)
    pen.tags.update(f"{len(flags)} flags" for _ in flags)
    text = _head(pen, flags) + pen.page.text
    return Generated(
        f"program_{re.sub(r'[^0-9a-z]+', '_', seed)}", text, flags, frozenset(pen.tags), frozenset(pen.rows)
    )


def _head(pen: Pen, flags: tuple[str, ...]) -> str:
    """Imports, flags and the data that the body turned out to name."""
    body = pen.page.text
    page = Page()
    page.lines += ["import os", ""] if flags else []
    page.lines += ["import torch"]
    page.lines += ["import torch.nn.functional as F"] if re.search(r"\bF\.", body) else []
    page.lines += ["from torch import nn"] if re.search(r"\bnn\.", body) else []
    page.lines += ["", "torch.manual_seed(0)"]
    page.lines += [f'{flag} = bool(int(os.environ.get("{flag}", "0")))' for flag in flags]
    page.lines += ["TURNS = 2"] if "TURNS" in body else []
    page.lines += [f"{name} = {made}" for name, made in DATA.items() if re.search(rf"\b{name}\b", body)]
    return page.text


def _write(pen: Pen, scope: Scope) -> None:
    dice = pen.dice
    kinds = [classes.network(pen, scope) for _ in range(dice.weighted(((0, 4.0), (1, 3.0), (2, 1.0))))]
    tensors(pen, scope)
    for kind in kinds:
        _instance(pen, scope, kind)
    modules(pen, scope)
    optimizers(pen, scope)
    if dice.chance(0.25):
        idioms.configuration(pen, scope)
    for _ in range(dice.number(0, 2)):
        dice.pick((definitions.helper, definitions.helper, definitions.anonymous, definitions.procedure))(pen, scope)
    if kinds and dice.chance(0.6):
        classes.trainer(pen, scope, kinds[0])
    if dice.chance(0.25):
        pen.tag("main")
        with pen.page.block("def main():"):
            inner = scope.function()
            inner.depth = 0
            _body(pen, inner)
        pen.write("")
        with pen.page.block('if __name__ == "__main__":'):
            pen.write("main()")
    else:
        _body(pen, scope)


def _body(pen: Pen, scope: Scope) -> None:
    if pen.dice.chance(0.4):
        pen.dice.pick(scenes.SCENES)(pen, scope)
        pen.body(scope, pen.dice.number(0, 3))
        if pen.dice.chance(0.5):
            walks.together(pen, scope)
    else:
        pen.body(scope, pen.dice.number(3, 10))
        if pen.dice.chance(0.5):
            walks.together(pen, scope)
        pen.body(scope, pen.dice.number(2, 6))
        if pen.dice.chance(0.5):
            pen.dice.pick(statements.CLOSING)(pen, scope)
    definitions.call_all(pen, scope)
    definitions.use_all(pen, scope)
    pen.write("print('done')")


def tensors(pen: Pen, scope: Scope) -> None:
    """Parameters and data."""
    for stem, shape in (("w", "M"), ("b", "V"), ("a", "A"), ("scale", "S"), ("u", "M")):
        if stem != "w" and pen.dice.chance(0.5):
            continue
        size = PARAMETERS.get(shape, "()")
        made = pen.dice.pick((f"torch.randn({size}, requires_grad=True)", f"torch.rand({size}).requires_grad_()",
                              f"nn.Parameter(torch.randn({size}))"))  # fmt: skip
        pen.write(f"{pen.name(stem)} = {made}")
        scope.variables.append(Variable(stem, shape, Live.YES, leaf=True))
    for stem, shape in (("x", "A"), ("y", "A"), ("offset", "V")):
        if stem == "x" or pen.dice.chance(0.4):
            pen.write(f"{pen.name(stem)} = torch.randn({PARAMETERS[shape]})")
            scope.add(Variable(stem, shape, Live.NO, light=True))
    for stem in ("batches", "loader"):
        if pen.dice.chance(0.6):
            pen.write(
                f"{stem} = {pen.dice.pick(('torch.randn(3, 4, 3)', '[torch.randn(4, 3) for _ in range(2)]', '[torch.randn(4, 3), torch.randn(4, 3)]', 'list(torch.randn(2, 4, 3))'))}"
            )
            scope.batches.append(stem)


def _instance(pen: Pen, scope: Scope, kind: str) -> None:
    name, gives = kind.split(":")
    model = pen.name(name.lower())
    pen.write(f"{model} = {name}()")
    scope.models.append(model)
    scope.callables += [Operation((), gives, f"{model}({{A}})", thin=True, passes=False)] * 2


def modules(pen: Pen, scope: Scope) -> None:
    """Layers of torch.nn at module level."""
    for layer in pen.dice.some(layers(), 0, 3):
        name = pen.name("layer")
        pen.write(f"{name} = {layer.made}")
        scope.callables.append(classes.use(layer, name))
        pen.rows.update(layer.rows)
        if layer.owns_weights:
            scope.models.append(name)
        elif pen.dice.chance(0.1):
            pen.tag("eval mode")
            pen.write(f"{name}.eval()")


def optimizers(pen: Pen, scope: Scope) -> None:
    """One or two optimisers over parameters and networks."""
    leaves = [v.name for v in scope.variables if v.leaf]
    for stem in pen.dice.some(("optimizer", "opt"), 0, 2):
        sources = pen.dice.some(leaves, 1, 2) + [
            f"*{model}.parameters()" for model in pen.dice.some(scope.models, 0, 2)
        ]
        pen.write(f"{stem} = torch.optim.{pen.dice.pick(_OPTIMIZERS).format('[' + ', '.join(sources) + ']')}")
        scope.optimizers.append(stem)
