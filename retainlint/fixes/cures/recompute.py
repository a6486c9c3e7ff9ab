"""What is computed anew: before the backward pass that finds it freed, in each turn of a loop, in each function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from retainlint.diagnostic import ComputeAnew, ComputeWhereUsed, Diagnostic, DrawAnew, Edit, Fix, MoveInto, StartAgain
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.cures.recompute_part import field_again, spared_names, without_names
from retainlint.fixes.edits import rewritten, telling, unsafe
from retainlint.fixes.statements import calls, calls_of, dependents, first, meets, reads, uses, writes
from retainlint.startup.records import replace
from retainlint.text.draws import draws_noise
from retainlint.text.quoting import short
from retainlint.text.source import INITIALISERS
from retainlint.text.syntax import FunctionNode, LoopNode, ScopeNode, bindings, bound, parameters

MOST_COPIED = 6
"""Statements that are written a second time; more are a function to be made."""


_SPOILS = re.compile(r"backward|step|grad$")
"""What frees a graph, or changes what it needs."""


_ACTS = re.compile(r"backward|step|zero_grad")


def _in_body_of(code: EditableCode, built: ast.stmt, later: ast.AST) -> ast.stmt | None:
    """What is built, or the `with` or `if` before `later` that holds it: a statement of a body in which that is too.

    None if they are in different functions.
    """
    while code.within(later, code.block(built).statements) is None:
        up = code.parents[built]
        if not isinstance(up, ast.stmt) or isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        built = up
    return built


def compute_anew(code: EditableCode, cure: ComputeAnew, diagnostic: Diagnostic) -> Iterator[Fix]:
    backward_pass, built = code.statement_at(cure.backward_pass), code.statement_at(cure.built)
    holder = _in_body_of(code, built, backward_pass)
    if holder is None:
        yield from _in_other_function(code, built, backward_pass)
    if holder is None or backward_pass is built:
        return
    built = holder
    block = code.block(built)
    anchor = code.around(block, backward_pass)
    if anchor is built:
        return
    chain = dependents(built, block.upto(built, anchor), reads(backward_pass))
    again = [each for each in chain if not calls([each], _ACTS)]
    if built not in again or len(again) > MOST_COPIED:
        return
    behind = _behind_what_spoils(again, block.upto(built, anchor))
    place = behind[0] if behind else backward_pass  # what stands there is computed anew as it is, once the rest is
    stands = {ast.dump(each) for each in behind}  # the original of what an earlier fix has copied there, too
    again = [each for each in again if ast.dump(each) not in stands]
    if not again:
        return
    between, behind = block.upto(built, anchor), block.statements[block.statements.index(anchor) :]
    stepped, stepping = ({ast.unparse(each.func) for each in calls_of(part, "step")} for part in (between, behind[:3]))
    if stepping and not stepped & stepping:
        yield from _above(code, place, again)
    made, spared = set().union(*map(writes, again)), spared_names(code, again, backward_pass)
    names = ", ".join(sorted(name for name in made if not name.endswith(".*") and name not in spared))
    what = f"`{names}`" if names else f"`{code.of(built)}`"
    if not any(meets(made, reads(each)) for each in between if each not in again):
        late = (*(code.removed(each) for each in again), code.copied_before(place, again))
        yield unsafe(f"Compute {what} right before this backward, and not earlier", *late)
    copied = code.copied_before(place, again)
    if spared:
        rows = "".join(without_names(code, each, code.indent(place), spared) for each in again)
        yield unsafe(f"Compute {what} again before this backward", replace(copied, text=rows))
    yield from field_again(code, again, backward_pass, place)
    yield unsafe(f"Compute {what} again before this backward", copied)


def _above(code: EditableCode, place: ast.stmt, chain: list[ast.stmt]) -> Iterator[Fix]:
    """The last of the statements alone, from what those before it have made, detached: a later backward pass needn't train
    what made that. Then the last two, and so on."""
    for start in range(len(chain) - 1, 0, -1):
        given = set().union(*map(bound, chain[:start]))
        taken = [
            each for one in chain[start:] for each in ast.walk(one) if isinstance(each, ast.Name) and each.id in given
        ]
        if not taken or any(not isinstance(each.ctx, ast.Load) for each in taken):
            return
        rows = [_taken_detached(code, each, taken) for each in chain[start:]]
        if any("\n" in row for row in rows):
            return
        said = f"Compute it again before this backward: `{rows[0]}`"
        if len(rows) > 1:
            said = f"Compute `{rows[0].partition(' = ')[2] or rows[0]}`, and what is made of it, again before this backward"
        yield telling(said, code.before(place, "\n".join(rows)))


def _taken_detached(code: EditableCode, statement: ast.stmt, taken: list[ast.Name]) -> str:
    """A statement, with some of the names in it detached."""
    start, end = code.start(statement), code.end(statement)
    own = sorted((each for each in taken if start <= code.start(each) < end), key=code.start)
    return rewritten(code.of(statement), start, [*map(code.detached, own)])


def _in_other_function(code: EditableCode, built: ast.stmt, backward_pass: ast.stmt) -> Iterator[Fix]:
    """The same in a function that is given what was built, and what that is made of, by the names that they have there."""
    own, scope = code.scope(built), code.scope(backward_pass)
    if not isinstance(own, FunctionNode) or not isinstance(scope, FunctionNode) or own is scope:
        return
    if not isinstance(built, ast.Assign) or calls([built], _ACTS) or code.parents[own] is not code.parents[scope]:
        return
    made, given = bound(built), parameters(scope.args)
    taken = {each.id for each in ast.walk(built.value) if isinstance(each, ast.Name)}
    local = parameters(own.args) | bound(own)
    body = first(scope.body)
    if made <= given and taken & local <= given - made and not _is_bound_in(scope, taken | made):
        said = ", ".join(sorted(made))
        yield unsafe(f"Compute `{said}` again in `{scope.name}`", code.copied_before(body, (built,)))


def _is_bound_in(scope: FunctionNode, names: set[str]) -> bool:
    return not names.isdisjoint(bound(ast.Module(scope.body, [])))


def _behind_what_spoils(chain: list[ast.stmt], between: list[ast.stmt]) -> list[ast.stmt]:
    """Those of some statements that stand behind the last walk or step between what is built and its second walk."""
    spoils = [number for number, each in enumerate(between) if calls([each], _SPOILS)]
    return [each for each in chain if spoils and each in between[spoils[-1] :]]


def compute_where_used(code: EditableCode, cure: ComputeWhereUsed, diagnostic: Diagnostic) -> Iterator[Fix]:
    built = code.statement_of(cure.span)
    written = code.writes(code.tree, cure.name)
    if built is not None and not isinstance(built, ast.Assign) and len(written) == 1:
        built = code.statement(code.start(written[0]))  # it is built in a function that is called there
    if not isinstance(built, ast.Assign) or len(built.targets) != 1:
        return
    if not isinstance(built.targets[0], ast.Name | ast.Attribute):
        return
    name, home = ast.unparse(built.targets[0]), code.scope(built)
    users, value = _users(code, built, name), _value(code, home, built)
    kept = ""
    yield from _made_again(code, home, name, users)
    if value is None and name.startswith("self.") and isinstance(home, ast.FunctionDef):
        if (given := _given(code, home, built)) is not None:
            kept, value = _kept(code, built, name, given)
    if not users or value is None:
        return
    reads = [read for user in users for read in code.reads(user, name)]
    inline = len(reads) == 1 and "." in name and "\n" not in value and not code.writes(users[0], name)
    message = f"Compute `{value}` where it is used" if inline else f"Compute `{name}` where it is used"
    if inline:
        text = value if isinstance(built.value, ast.Call | ast.Name | ast.Attribute) else f"({value})"
        into: tuple[Edit, ...] = (code.replaced(reads[0], text),)
    else:
        into = tuple(code.before(_user_row(code, user, name), f"{name} = {value}") for user in users)
    if kept:
        into = (code.replaced(built, kept), *into)
    elif inline or not _is_read_elsewhere(code, name, users):
        with suppress(Uneditable):  # a body would be left without statements
            yield unsafe(message, code.removed(built), *into)
    yield unsafe(message, *into)


def _made_again(code: EditableCode, home: ScopeNode, name: str, users: Sequence[FunctionNode]) -> Iterator[Fix]:
    """The method that `__init__` calls to make an attribute, called by those that read it, too."""
    if not isinstance(home, ast.FunctionDef) or home.name in INITIALISERS or home.decorator_list:
        return
    if not name.startswith("self.") or parameters(home.args) != {"self"}:
        return
    row = f"self.{home.name}()"
    idle = [user for user in users if not any(code.of(each) == row for each in calls_of([user], home.name))]
    if idle:
        rows = (code.before(first(user.body), row) for user in idle)
        yield telling(f"Call `{row}` in `{'` and `'.join(user.name for user in idle)}`, too", *rows)


def _given(code: EditableCode, home: FunctionNode, built: ast.Assign) -> ast.expr | None:
    """The one thing that a module of the object is given where it is called, which only the function there knows."""
    call, own = built.value, (parameters(home.args) | bound(home)) - {"self"}
    if not (isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords):
        return None
    return call.args[0] if code.of(call.func).startswith("self.") and not reads(call.func) & own else None


def _kept(code: EditableCode, built: ast.Assign, name: str, given: ast.expr) -> tuple[str, str]:
    """A statement that keeps what a module is given in place of what it makes of that, and what makes that anew."""
    own = f"{name}_input"
    cls = code.class_around(built)
    is_module = cls is not None and any(ast.unparse(each).endswith("Module") for each in cls.bases)
    label = own.removeprefix("self.")
    kept = f'self.register_buffer("{label}", {code.of(given)}, persistent=False)'
    text = kept if is_module else f"{own} = {code.of(given)}"
    assert isinstance(built.value, ast.Call)
    return text, f"{code.of(built.value.func)}({own})"


def _users(code: EditableCode, built: ast.stmt, name: str) -> list[FunctionNode]:
    """The functions, of the same class if it is an attribute, that read it and don't make it."""
    home = code.scope(built)
    within = (code.class_around(built) if name.startswith("self.") else None) or code.tree
    found: list[FunctionNode] = []
    for node in ast.walk(within):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not home and code.reads(node, name):
            above = list(code.above(node))
            if not any(up in found for up in above) and not (home in above and "." in name):
                found.append(node)
    return found


def _user_row(code: EditableCode, user: FunctionNode, name: str) -> ast.stmt:
    return next((each for each in user.body if code.reads(each, name)), first(user.body))


def _value(code: EditableCode, home: ScopeNode, built: ast.Assign) -> str | None:
    """The text of what is computed, with the arguments of `__init__` by the attributes that keep them.

    None if it depends on something that only the function which computes it knows.
    """
    text = code.of(built.value)
    if isinstance(home, ast.Module):
        return text
    own = (parameters(home.args) | bound(home)) - bound(built.value) - {"self"}
    kept = _attributes_of(home)
    names = [each for each in ast.walk(built.value) if isinstance(each, ast.Name) and each.id in own]
    if any(each.id not in kept for each in names):
        return None
    put = [code.replaced(each, kept[each.id]) for each in sorted(names, key=code.start)]
    return rewritten(text, code.start(built.value), put)


def _attributes_of(home: FunctionNode) -> dict[str, str]:
    """The attributes that keep a local name: `self.x = x`, `self.x, self.y = x, y`, `self.register_buffer("x", x)`."""
    found = {}
    for node in ast.walk(home):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name("self"), attr="register_buffer" | "register_parameter"),
                args=[ast.Constant(value=str(own)), ast.Name(id=given), *_],
            ):
                found[given] = f"self.{own}"
        for each in bindings(node):
            if isinstance(each.target, ast.Attribute) and isinstance(each.value, ast.Name):
                found[each.value.id] = ast.unparse(each.target)
    return found


def _is_read_elsewhere(code: EditableCode, name: str, users: list[FunctionNode]) -> bool:
    """Whether anything that isn't rewritten reads it."""
    inside = {id(node) for user in users for node in ast.walk(user)}
    last = name.rpartition(".")[2]
    for node in code.below(code.tree):
        if id(node) in inside or not isinstance(node, ast.Attribute | ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if (node.attr == last and "." in name) if isinstance(node, ast.Attribute) else node.id == name:
            return True
    return False


MOST_MOVED = 8
"""Statements that are moved together; more are a program to be rewritten."""


_MAKES_LEAVES = re.compile(r"requires_grad|Parameter\(|\bnn\.(?!functional)[A-Z]|\boptim\.")


def move_into(code: EditableCode, cure: MoveInto, diagnostic: Diagnostic) -> Iterator[Fix]:
    loop = code.headed(cure.loop) or _closure(code, diagnostic)
    spans = (cure.span, *(label.span for label in diagnostic.labels if not label.primary))
    for span in dict.fromkeys(spans):
        built = code.statement_of(span)
        if loop is None or built is None:
            continue
        for each in (built, *_makers(code, built)):
            yield from _without_called(code, each, loop)
            if (fix := inside(code, each, loop)) is not None:
                yield fix
        yield from _of_last_iteration(code, built, loop)
    for name in dict.fromkeys(label.span.text for label in diagnostic.labels):
        if re.fullmatch(r"self\.\w+", name):
            yield from compute_where_used(code, ComputeWhereUsed(cure.span, name), diagnostic)


MOST_MAKERS = 3
"""Statements above that which builds a graph from which it is tried to compute again."""


def _makers(code: EditableCode, built: ast.stmt) -> Iterator[ast.stmt]:
    """The statements of a body of which one is made, the nearest first: what they make may have a graph, too."""
    block, needed = code.block(built).statements, reads(built)
    found = 0
    for each in reversed(block[: block.index(built)]):
        if meets(writes(each), needed) and found < MOST_MAKERS:
            needed |= reads(each)
            found += 1
            yield each


def start_again(code: EditableCode, cure: StartAgain, diagnostic: Diagnostic) -> Iterator[Fix]:
    loop = code.headed(cure.loop)
    if loop is None:
        return
    block = code.block(loop)
    before = block.before(loop)
    begun = next((each for each in reversed(before) if cure.name in bound(each)), None)
    if begun is not None and (fix := inside(code, begun, loop)) is not None:
        yield replace(fix, message=f"Begin each iteration with `{short(code.of(begun))}`", tells=True)


def inside(code: EditableCode, built: ast.stmt, loop: LoopNode | FunctionNode) -> Fix | None:
    """What is made by one statement, and by those behind it that the loop needs, moved into the loop."""
    moved, between = _dependents_above(code, built, loop)
    if not moved or any(_MAKES_LEAVES.search(code.of(each)) for each in moved):
        return None
    if not isinstance(loop, LoopNode):
        made, given = set().union(*map(bound, moved)), parameters(loop.args)
        if made & given or set().union(*map(reads, moved)) & (given | bound(ast.Module(loop.body, []))) - made:
            return None  # the function is given it, or has other things by the names of what it is made of
    if isinstance(loop, LoopNode) and any(map(_made_of_itself, moved)):
        return _of_what_was(code, loop, moved)  # there it would be given what it has made
    return _moved(code, loop, moved, between)


def draw_anew(code: EditableCode, cure: DrawAnew, diagnostic: Diagnostic) -> Iterator[Fix]:
    loop, built, torch = code.headed(cure.loop), code.statement_of(cure.span), code.torch
    if not isinstance(loop, LoopNode) or built is None or not torch:
        return
    for each in (built, *_makers(code, built)):
        moved, between = _dependents_above(code, each, loop)
        given = set().union(*map(bound, moved[:-1]))
        if given & reads(ast.Module(loop.body, [])):  # it is the data of which both learn
            return
        is_kept = any(_MAKES_LEAVES.search(code.of(one)) or _made_of_itself(one) for one in moved)
        if moved and not is_kept and draws_noise(code, moved):
            fix = _moved(code, loop, moved, between, f"{torch}.no_grad()")
            yield replace(fix, message=f"{fix.message} under `{torch}.no_grad()`, of new noise", cuts=True, tells=True)


def _dependents_above(
    code: EditableCode, built: ast.stmt, loop: LoopNode | FunctionNode
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What is made by one statement, and by those behind it that the loop needs, of all that stand above that; nothing where
    they can't be moved."""
    holder = _in_body_of(code, built, loop)
    if holder is None:
        return [], []
    block = code.block(holder)
    anchor = code.around(block, loop)
    if block.statements.index(anchor) <= block.statements.index(holder):
        return [], []
    between = block.upto(holder, anchor)
    moved = dependents(holder, between, _needed_in(loop, holder))
    is_movable = holder in moved and len(moved) <= MOST_MOVED and not calls(moved, _ACTS)
    return (moved if is_movable else []), between


def _needed_in(loop: LoopNode | FunctionNode, made: ast.stmt) -> set[str]:
    """What the body of a loop reads, and a part that a statement changes of an object of which the body calls a method, or gives it
    to a call: `self.net`, which `self.net.draw()` changes, in `self.loss(x)`."""
    calls = [node for each in loop.body for node in ast.walk(each) if isinstance(node, ast.Call)]
    owners = {ast.unparse(each.func.value) for each in calls if isinstance(each.func, ast.Attribute)}
    handed = owners.union(ast.unparse(arg) for each in calls for arg in each.args)
    parts = {name.removesuffix(".*") for name in writes(made) if name.endswith(".*")}
    return reads(ast.Module(loop.body, [])) | {
        part for part in parts if any(part.startswith(f"{up}.") for up in handed)
    }


def _without_called(code: EditableCode, built: ast.stmt, loop: LoopNode | FunctionNode) -> Iterator[Fix]:
    """The same without the last calls of these: what they make stays what it is where it has no graph, as the actions that were
    chosen."""
    moved, between = _dependents_above(code, built, loop) if isinstance(loop, LoopNode) else ([], [])
    goal = reads(ast.Module(loop.body, []))
    for end, each in enumerate(moved):
        few = dependents(moved[0], moved[1:end], goal)
        is_kept = any(_MAKES_LEAVES.search(code.of(one)) or _made_of_itself(one) for one in few)
        if end and any(isinstance(node, ast.Call) for node in ast.walk(each)) and not is_kept and len(few) == end:
            yield _moved(code, loop, few, between)


def _made_of_itself(statement: ast.stmt) -> str:
    """The variable that a statement binds to what it is given of it, too; "" for none."""
    return next((name for name in sorted(writes(statement) & reads(statement)) if name.isidentifier()), "")


def _of_what_was(code: EditableCode, loop: LoopNode, moved: list[ast.stmt]) -> Fix | None:
    """`data = prepare(data)`, made in each iteration of what stands for `data` now, which is kept under another name."""
    made, name = moved[0], _made_of_itself(moved[0])
    kept = f"{name}_before"
    if len(moved) > 1 or not isinstance(made, ast.Assign) or writes(made) != {name} or kept in code.text:
        return None
    again = ast.parse(ast.unparse(made)).body[0]
    for node in ast.walk(again):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            node.id = kept
    target = _first_user(loop, {name})
    edits = code.replaced(made, f"{kept} = {name}"), code.before(target, ast.unparse(again))
    return unsafe(f"Compute `{name}` inside the loop, of what it is before", *edits)


def _of_last_iteration(code: EditableCode, built: ast.stmt, loop: LoopNode | FunctionNode) -> Iterator[Fix]:
    """What the last iteration of another loop made, made again in this one of what that iteration leaves."""
    holder, other = _in_body_of(code, built, loop), code.parents[built]
    if holder is not other or not isinstance(other, LoopNode) or not isinstance(loop, LoopNode):
        return
    if isinstance(built, ast.Assign) and built in other.body and not calls([built], _ACTS):
        made = bound(built)
        target = _first_user(loop, made)
        if made and made.isdisjoint(reads(built)):
            yield unsafe(f"Compute `{_named(made)}` again inside the loop", code.copied_before(target, [built]))


def _closure(code: EditableCode, diagnostic: Diagnostic) -> FunctionNode | None:
    """The function that walks, if what calls it again is no loop but an optimiser's step."""
    backward_pass = code.statement_of(diagnostic.primary.span)
    scope = code.scope(backward_pass) if backward_pass is not None else None
    return scope if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _first_user(loop: LoopNode | FunctionNode, made: set[str]) -> ast.stmt:
    """The statement of a loop before which something is to be made: the first that reads it."""
    return next((each for each in loop.body if meets(made, reads(each))), None) or first(loop.body)


MOST_NAMED = 4
"""Statements that are moved together, and are all named."""


def _moved(
    code: EditableCode, loop: LoopNode | FunctionNode, moved: list[ast.stmt], between: list[ast.stmt], context: str = ""
) -> Fix:
    written = set().union(*map(writes, moved))
    target = _first_user(loop, written)
    code.rows(target)
    into = code.copied_before(target, moved, context)
    named = _named(written) or code.of(moved[0]).splitlines()[0]
    what = f"`{named}`" if len(moved) == 1 else f"what makes `{_named(writes(moved[-1])) or named}`"
    where = "closure" if isinstance(loop, ast.FunctionDef | ast.AsyncFunctionDef) else "loop"
    if _needed_outside(code, loop, moved, between, written):
        return unsafe(f"Compute {what} again inside the {where}", into)
    edits = (*(code.removed(each) for each in moved), into)
    names = [_named(writes(each)) for each in moved]
    if 1 < len(names) <= MOST_NAMED and all(map(str.isidentifier, names)):  # none of them does alone
        what = f"`{'`, `'.join(names[:-1])}` and `{names[-1]}`"
        return telling(f"Compute {what} inside the {where}", *edits)
    return unsafe(f"Compute {what} inside the {where}", *edits)


def _needed_outside(
    code: EditableCode, loop: LoopNode | FunctionNode, moved: list[ast.stmt], between: list[ast.stmt], written: set[str]
) -> bool:
    """Whether anything but the loop's body, and what follows a loop, reads what is moved."""
    if any(uses(each, written) for each in between if each not in moved):
        return True
    if isinstance(loop, ast.While):
        return meets(written, reads(loop.test))
    if isinstance(loop, ast.For | ast.AsyncFor):
        return meets(written, reads(loop.iter))
    inside = {id(node) for each in (*moved, *loop.body) for node in ast.walk(each)}
    others = (node for node in ast.walk(code.scope(loop)) if isinstance(node, ast.Name | ast.Attribute))
    return any(
        id(node) not in inside and isinstance(node.ctx, ast.Load) and ast.unparse(node) in written for node in others
    )


def _named(written: set[str]) -> str:
    return ", ".join(sorted(name for name in written if not name.endswith(".*")))
