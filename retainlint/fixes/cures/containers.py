"""What is put into lists and dicts, and how that is detached."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from retainlint.diagnostic import Edit
from retainlint.fixes.code import EditableCode
from retainlint.fixes.statements import calls_of
from retainlint.text.syntax import called, normalized


def is_container(code: EditableCode, name: str) -> bool:
    """Whether the text puts things into it."""
    return any(called(call) in _GROWS for call in code.calls_on(name)) or is_bound_to_list(code, name)


def is_bound_to_list(code: EditableCode, name: str) -> bool:
    return any(isinstance(each.value, ast.List | ast.ListComp) for each in code.bound_as(name))


_GROWS = ("append", "extend")
_STORES = (*_GROWS, "appendleft", "insert", "put", "add")


def stored(code: EditableCode, inside: ast.AST, name: str) -> Iterator[tuple[ast.expr, bool]]:
    """What is put into a list or dict of a name, and whether it is many items."""
    wanted = normalized(name)
    for call in calls_of([inside], *_STORES):
        if isinstance(call.func, ast.Attribute) and call.args and normalized(code.of(call.func.value)) == wanted:
            yield call.args[-1], call.func.attr == "extend"
    for node in code.below(inside):
        if isinstance(node, ast.AugAssign) and normalized(code.of(node.target)) == wanted:
            if isinstance(node.value, ast.List):
                yield node.value, True
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            if normalized(code.of(node.targets[0].value)) == wanted:
                yield node.value, False


def _detachable(code: EditableCode, given: ast.expr, many: bool) -> list[ast.expr]:
    """The expressions of which one, detached, leaves what is stored without a graph; a module, as in `torch.tanh(x)`, is none."""
    match given:
        case ast.ListComp() | ast.GeneratorExp():
            return [given.elt]
        case ast.List() | ast.Tuple() | ast.Set():
            return given.elts
        case ast.Dict():
            return given.values
        case ast.Call():
            owner = [given.func.value] if isinstance(given.func, ast.Attribute) else []
            owner = [each for each in owner if code.of(each) not in _imported(code)]
            return [*([] if many else [given]), *owner, *given.args, *(each.value for each in given.keywords)]
    return [] if many else [given]


def _imported(code: EditableCode) -> set[str]:
    every = (each for each in code.below(code.tree) if isinstance(each, ast.Import | ast.ImportFrom))
    return {name.asname or name.name for each in every for name in each.names}


def ways_to_store(code: EditableCode, row: str, value: ast.expr, many: bool) -> list[tuple[Edit, ...]]:
    """The ways to detach what is put into a container: as its items were seen to be, by the row that detaches them all, where
    they are no tensors."""
    item, own = _item_of(row)
    if many or item in ("", f"{own}.detach()"):
        return [(code.detached(part),) for part in _detachable(code, value, many)]
    if isinstance(value, ast.Tuple) and re.fullmatch(r"tuple\((\w)\.detach\(\) for \1 in \w\)", item):
        return [tuple(code.detached(part) for part in value.elts)]
    reads = re.compile(rf"\b{own}\b")
    if len(reads.findall(item)) > 1 and not isinstance(value, ast.Name | ast.Attribute):
        return []  # it would be computed twice
    made = reads.sub(lambda _: code.of(value), item)
    return [(code.replaced(value, made),)]


def _item_of(row: str) -> tuple[str, str]:
    """The expression that detaches one item, and the name that stands for it there, of `x = {k: t.detach() for k, t in x.items()}`
    or `x = [t.detach() for t in x]`; "" of others."""
    match ast.parse(row).body:
        case [
            ast.Assign(value=ast.DictComp(value=item, generators=[ast.comprehension(ast.Tuple([_, ast.Name(own)]))]))
        ]:
            return ast.get_source_segment(row, item) or "", own
        case [ast.Assign(value=ast.ListComp(item, [ast.comprehension(ast.Name(own))]))]:
            return ast.get_source_segment(row, item) or "", own
    return "", ""
