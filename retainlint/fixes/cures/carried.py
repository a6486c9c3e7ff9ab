"""What one iteration hands on is left out: computed by the next instead, or begun anew with each."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from retainlint.diagnostic import (
    BeginAnew,
    CallResets,
    ComputeInEach,
    Diagnostic,
    Edit,
    Fix,
    KeepInput,
    MakeInCall,
    PutBack,
)
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import telling, unsafe
from retainlint.fixes.statements import first, meets, reads, tuning, writes
from retainlint.startup.records import replace
from retainlint.text.quoting import short
from retainlint.text.source import INITIALISERS, Source
from retainlint.text.syntax import LoopNode, bindings, bound, dotted, parameters, syntax_of


def compute_in_each(code: EditableCode, cure: ComputeInEach, diagnostic: Diagnostic) -> Iterator[Fix]:
    loop = code.headed(cure.loop)
    if not isinstance(loop, ast.For | ast.AsyncFor | ast.While):
        return
    block = code.block(loop)
    above = block.before(loop)
    handed = {target: value for each in loop.body for target, value in _pairs(each).items()}
    made = {value: target for target, value in handed.items()}
    for ahead in loop.body:
        names = {target for target, value in handed.items() if value in bound(ahead)}
        begun = _made(names, above)
        if begun is None or not isinstance(ahead, ast.Assign) or _recurs(loop, ahead, names):
            continue
        if _renamed(ahead, made) != ast.unparse(begun):
            continue
        edits = [code.copied_before(first(loop.body), [begun])]
        for each in loop.body:
            pairs = _pairs(each)
            rest = {target: value for target, value in pairs.items() if target not in names}
            if len(rest) < len(pairs):
                edits.append(_without(code, each, rest))
        if not _is_read_before(loop, above[above.index(begun) + 1 :], begun):
            edits.append(code.removed(begun))
        listed = ", ".join(f"`{name}`" for name in sorted(names))
        yield unsafe(f"Compute {listed} at the start of each iteration", *edits)


_EARLIER = re.compile(r"(?:prev(?:ious)?|last|old)_")
"""How what is kept of before is named."""


def keep_input(code: EditableCode, cure: KeepInput, diagnostic: Diagnostic) -> Iterator[Fix]:
    call, made = code.call_at(cure.span), code.statement_at(cure.span)
    owner = next((up for up in code.above(made) if isinstance(up, ast.ClassDef)), None)
    if len(call.args) != 1 or call.keywords or not (given := dotted(call.args[0])) or owner is None:
        return
    stores = [each for each in code.bound_as(cure.name) if owner in code.above(each.statement)]
    values = {code.of(call)} | {each.name for each in bindings(made) if each.value is call}
    keeping = [each for each in stores if code.of(each.value) in values]
    begun = [each for each in stores if isinstance(each.value, ast.Constant)]
    attribute = cure.name.removeprefix("self.")
    earlier = _EARLIER.match(attribute)
    kept = f"{earlier[0]}{given.rpartition('.')[2]}" if earlier is not None else f"{attribute}_input"
    if len(keeping) != 1 or len(stores) > len(keeping) + len(begun) or code.named(owner, f"self.{kept}"):
        return
    edits = [code.replaced(keeping[0].statement, f"self.{kept} = {given}")]
    edits += [code.replaced(each.target, f"self.{kept}") for each in begun]
    for read in code.reads(owner, cure.name):
        is_asked = isinstance(code.parents[read], ast.Compare)
        edits.append(code.replaced(read, f"self.{kept}" if is_asked else f"{code.of(call.func)}(self.{kept})"))
    yield unsafe(f"Keep `{given}` in place of `{cure.name}`, and compute that again where it is used", *edits)


_EMPTY = ("{}", "dict()", "OrderedDict()")
_BEGUN: tuple[tuple[Callable[[ast.AST], bool], str], ...] = (
    (lambda value: isinstance(value, ast.Constant) and value.value is None, "{name} = None"),
    (lambda value: dotted(value) == "torch.zeros", "{name} = torch.zeros_like({name})"),
    (lambda value: isinstance(value, ast.Dict | ast.Call) and ast.unparse(value) in _EMPTY, "{name}.clear()"),
)
"""How what objects hold is begun, and how it is begun anew."""


def begin_anew(code: EditableCode, cure: BeginAnew, diagnostic: Diagnostic) -> Iterator[Fix]:
    """What puts the states back before the loop is done in each iteration; or they are put back to None or zeros, or emptied."""
    loop = code.headed(cure.loop)
    if not isinstance(loop, LoopNode) or not cure.states:
        return
    start, owners = first(loop.body), {name.partition(".")[0].partition("[")[0] for name in cure.states}
    block = code.block(loop)
    for each in reversed(block.before(loop)):
        if not isinstance(each, ast.Expr) or not isinstance(each.value, ast.Call):
            continue
        if owners <= {name.id for name in ast.walk(each) if isinstance(name, ast.Name)}:
            said = f"Move `{short(code.of(each))}` into the loop, to the start of each iteration"
            yield telling(said, code.removed(each), code.copied_before(start, [each]))
    names = {name.rpartition(".")[2] for name in cure.states}
    trees = {syntax_of(label.span.source) for label in diagnostic.labels}
    begun = [[each.value for tree in trees for each in tree.bound_as(f"self.{name}")] for name in names]
    for is_such, row in _BEGUN:
        if all(any(is_such(part) for value in values for part in ast.walk(value)) for values in begun):
            rows = [row.format(name=name) for name in cure.states]
            said = "`, `".join(rows)
            fix = telling(f"`{said}` at the start of each iteration", code.before(start, "\n".join(rows)))
            yield replace(fix, parts=row.endswith("()"))  # a loss may have been made of all that a table held


def put_back(code: EditableCode, cure: PutBack, diagnostic: Diagnostic) -> Iterator[Fix]:
    """What another loop calls to put the states back, called at the start of each iteration as well: of the loops that lead
    to the failure, the innermost first."""
    names = {name.rpartition(".")[2] for name in cure.states}
    sources = dict.fromkeys(label.span.source for label in diagnostic.labels)
    putting = {name for source in sources for name in _putting_back(source, names)}
    calls = [each for each in code.below(code.tree) if isinstance(each, ast.Expr) and _calls(each, putting)]
    calls = [each for each in calls if code.loop_around(each) is not None]
    places = [code.statement_of(label.span) for label in diagnostic.labels if label.span.source is code.source]
    loops = {each for place in places if place is not None for each in code.above(place) if isinstance(each, LoopNode)}
    for loop in sorted(loops, key=lambda each: len([*code.above(each)]), reverse=True):
        if any(code.of(each).rpartition(".")[2] in names for each in _stored(loop)):
            continue  # it is what carries them on
        why = (
            ": what is kept was made with the weights of before" if cure.cached else ", if nothing is to be carried on"
        )
        for call in calls:
            if code.scope(call) is code.scope(loop) or (
                _is_own(call) and code.class_around(call) is code.class_around(loop)
            ):
                said = f"Call `{short(code.of(call))}` at the start of each iteration{why}"
                fix = telling(said, code.copied_before(first(loop.body), [call]))
                yield replace(fix, parts=True)  # what it held was made by more ways
        for row in _set_back(code, cure.states, loop):
            said = f"`{row}` at the start of each iteration, as elsewhere{why}"
            yield telling(said, code.before(first(loop.body), row), parts=True)
    if len(names) == 1:
        for start, row in _as_at_first(code, *names):
            said = f"Begin each call with `{row}`, as `__init__` does"
            yield telling(said, code.before(start, row), parts=True)


def _as_at_first(code: EditableCode, name: str) -> Iterator[tuple[ast.stmt, str]]:
    """Where a method begins that has a loop of its own in which it sets an attribute anew, and what sets that as the object's
    `__init__` does, of what it keeps."""
    for bound_first in code.bound_as(f"self.{name}"):
        initialiser = code.function_around(bound_first.statement)
        owner = code.parents.get(initialiser) if initialiser is not None else None
        if not isinstance(owner, ast.ClassDef) or initialiser is None or initialiser.name not in INITIALISERS:
            continue
        kept = {each.value.id: each.name for each in code.bound_in(initialiser) if isinstance(each.value, ast.Name)}
        kept = {given: attribute for given, attribute in kept.items() if attribute.startswith("self.")} | {
            "self": "self"
        }
        if not reads(bound_first.value).isdisjoint((bound(initialiser) | parameters(initialiser)) - set(kept)):
            continue
        row = _renamed(ast.Assign([bound_first.target], bound_first.value, lineno=1), kept)
        for again in code.bound_as(f"self.{name}"):
            method = code.function_around(again.statement)
            is_method = method is not None and method is not initialiser and code.parents.get(method) is owner
            if method is not None and is_method and code.loop_around(again.statement) is not None:
                yield first(method.body), row


def _set_back(code: EditableCode, states: Sequence[str], loop: LoopNode) -> Iterator[str]:
    """What sets the one state to what its object makes, `net.h = net.zeros()`, if another loop does so in each iteration."""
    for each in code.below(code.tree):
        match each:
            case ast.Assign([ast.Attribute(owner, name)], ast.Call(ast.Attribute(maker, method), [], [])):
                held, _, own = states[0].rpartition(".")
                is_same = ast.unparse(owner) == ast.unparse(maker) and own == name and len(states) == 1
                if is_same and code.loop_around(each) is not None and not code.within(each, loop.body):
                    yield f"{states[0]} = {held}.{method}()"


def call_resets(code: EditableCode, cure: CallResets, diagnostic: Diagnostic) -> Iterator[Fix]:
    """The objects emptied at the start of each iteration, all of a class or just that of which the graphs were seen."""
    loop = code.headed(cure.loop)
    if not isinstance(loop, LoopNode):
        return
    steps = [each for each in loop.body if tuning([each])]
    for calls in dict.fromkeys((cure.calls, cure.calls[:1])):
        said, rows = " and ".join(f"`{each}`" for each in calls), "\n".join(calls)
        if cure.late:
            fix = telling(f"Call {said} after each step", code.after((steps or loop.body)[-1], rows))
        else:
            fix = telling(f"Call {said} at the start of each iteration", code.before(first(loop.body), rows))
        yield replace(fix, parts=True)  # of what earlier iterations have left there, each came by a way of its own


def _putting_back(source: Source, names: set[str]) -> Iterator[str]:
    """The methods that set all these attributes to what isn't made of them, and are given nothing."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        for method in ast.walk(ast.parse(source.text)):
            if isinstance(method, ast.FunctionDef) and len(method.args.args) == 1 and method.name not in INITIALISERS:
                named = [each for each in ast.walk(method) if isinstance(each, ast.Attribute) and each.attr in names]
                are_set = all(isinstance(each.ctx, ast.Store) for each in named)
                if are_set and names == {each.attr for each in named}:
                    yield method.name


def _calls(statement: ast.Expr, methods: set[str]) -> bool:
    match statement.value:
        case ast.Call(ast.Attribute(attr=name), [], []):
            return name in methods
    return False


def _is_own(call: ast.Expr) -> bool:
    """Whether a call begins with `self`."""
    return next((each.id == "self" for each in ast.walk(call) if isinstance(each, ast.Name)), False)


def _stored(loop: LoopNode) -> Iterator[ast.expr]:
    return (each for each in ast.walk(loop) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))


def _pairs(statement: ast.stmt) -> dict[str, str]:
    """The names that a statement gives to others: `a = b`, `a, c = b, d`."""
    match statement:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
            pass
        case ast.Assign([target], value):
            targets, values = [target], [value]
        case _:
            return {}
    pairs = [(a.id, b.id) for a, b in zip(targets, values) if isinstance(a, ast.Name) and isinstance(b, ast.Name)]
    return dict(pairs) if len(pairs) == len(targets) == len(values) else {}


def _made(names: set[str], statements: list[ast.stmt]) -> ast.Assign | None:
    """The last of some statements that binds one of these names, if it is a call that binds just them."""
    found = next((each for each in reversed(statements) if not bound(each).isdisjoint(names)), None)
    if not isinstance(found, ast.Assign) or not isinstance(found.value, ast.Call):
        return None
    return found if bound(found) == writes(found) == names else None


def _recurs(loop: LoopNode, ahead: ast.Assign, names: set[str]) -> bool:
    """Whether what is computed ahead is made of what was handed on before, or of what is bound again behind it."""
    read, behind = reads(ahead.value), loop.body[loop.body.index(ahead) + 1 :]
    return not read.isdisjoint(names) or any(
        meets(writes(each), read) for each in behind if isinstance(each, ast.Assign)
    )


def _renamed(statement: ast.Assign, names: Mapping[str, str]) -> str:
    """A statement as `ast` writes it, where these names are others."""
    copy = ast.parse(ast.unparse(statement))
    for node in ast.walk(copy):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.unparse(copy)


def _without(code: EditableCode, on: ast.stmt, rest: Mapping[str, str]) -> Edit:
    """A statement that hands on no more than these."""
    if not rest:
        return code.removed(on)
    return code.replaced(on, f"{', '.join(rest)} = {', '.join(rest.values())}")


def _is_read_before(loop: LoopNode, between: list[ast.stmt], begun: ast.stmt) -> bool:
    """Whether anything between a statement and the loop's first iteration reads what it makes."""
    head = loop.test if isinstance(loop, ast.While) else loop.iter
    return any(meets(writes(begun), reads(each)) for each in (*between, head))


def make_in_call(code: EditableCode, cure: MakeInCall, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`def f(x, made=[]):` to `made=None`, and a row that makes it where nothing was given."""
    for node in code.below(code.tree):
        if not isinstance(node, ast.FunctionDef) or not code.start(node) <= cure.span.start < code.end(node):
            continue
        plain = [*node.args.posonlyargs, *node.args.args]
        pairs = [*zip(reversed(plain), reversed(node.args.defaults)), *zip(node.args.kwonlyargs, node.args.kw_defaults)]
        made = next((default for each, default in pairs if each.arg == cure.name and default is not None), None)
        opening = first(node.body)
        if made is None or isinstance(made, ast.Constant) or opening.lineno == node.lineno:
            continue
        text = code.of(made)
        default = code.replaced(made, "None")
        row = code.before(opening, f"{cure.name} = {text} if {cure.name} is None else {cure.name}")
        yield unsafe(f"Make `{cure.name}` in each call: `{cure.name} = {text} if {cure.name} is None`", default, row)
