"""What the user is told: the message, its labels in the order of the story, and the cures as data."""

from __future__ import annotations

import os
from enum import Enum
from typing import TypeAlias

from retainlint.incident import Holder, Witness
from retainlint.startup.records import record
from retainlint.text.source import Source, Span

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"


Identity: TypeAlias = "tuple[str, int, int, int, str]"
"""File, row, column and code of a finding, and how many stand before it there."""


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@record
class Label:
    """A mark under a span. Exactly one label of a diagnostic is primary: there it fails."""

    span: Span
    text: str
    primary: bool = False


@record
class Detach:
    """Cut the graph off what is named `name`, at `span`; `iteration` is the loop, or the method, that carries it on, and
    `holders` those that hold it there, where that was seen. `meant`: a backward pass isn't to train
    what it can't reach then, as the optimisers show; `made`: none is, and it is best cut at `span`, where it is made;
    `sought`: a term of the loss trains what goes into it; `share`: only where it goes into a running average."""

    span: Span
    name: str
    iteration: Span | None = None
    meant: bool = False
    made: bool = False
    holders: tuple[Holder, ...] = ()
    sought: bool = False
    share: bool = False


@record
class KeepGraph:
    """Give the walk at `span` `retain_graph=True`, and `other` as well where a third one comes to the same graph."""

    span: Span
    other: Span | None = None


@record
class ReadGradients:
    """Read the `.grad` of what the call of `autograd.grad` at `span` asks for, where the backward pass at `first` has left it."""

    span: Span
    first: Span


@record
class CreateGraph:
    """Give the call of `autograd.grad` at `span` `create_graph=True`, and `other` as well where both gradients are computed with."""

    span: Span
    other: Span | None = None


@record
class SumLosses:
    """Walk the sum of the roots once instead of each alone; `early` where the first stands, before the steps between them."""

    backward_passes: tuple[Span, ...]
    early: bool = False


@record
class MoveInto:
    """Compute what stands at `span` anew in each turn of `loop`."""

    span: Span
    loop: Span


@record
class MoveHook:
    """Have the method around `span`, to which `call` leads by its name, be the one that `loop` calls in each iteration."""

    span: Span
    call: Span
    loop: Span


@record
class DrawAnew:
    """Compute what stands at `span` of new noise in each iteration of `loop`, without a graph."""

    span: Span
    loop: Span


@record
class ComputeInEach:
    """Compute at the start of each iteration of `loop` what each computes ahead for the next, and hands on."""

    loop: Span


@record
class KeepInput:
    """Keep under `name` what the call at `span` is given, in place of what it returns, and call it again where that is read."""

    span: Span
    name: str


@record
class StartAgain:
    """Begin each iteration of `loop` with what `name` is before it: to detach what is handed on would leave most of what is
    trained without a gradient from the second iteration on."""

    loop: Span
    name: str
    is_sum: bool = False  # of what the iteration itself adds: nothing was to be handed on


@record
class BeginAnew:
    """Put what objects hold from iteration to iteration of `loop` back to what it is at first, where each begins: `states` are
    the attributes, as they are called there."""

    loop: Span
    states: tuple[str, ...]


@record
class PutBack:
    """Do at the start of each iteration what another loop does to put the attributes `states` back to what they are at first; with
    `cached`, so that what they keep is made again."""

    states: tuple[str, ...]
    cached: bool = False


@record
class CallResets:
    """Call at the start of each iteration of `loop` what empties the objects that hold graphs: `tap.clear()`; or, `late`, at its
    end: what they keep was made with the weights of then."""

    loop: Span
    calls: tuple[str, ...]
    late: bool = False


@record
class MakeInCall:
    """Make the default of the argument `name`, of the function around `span`, anew in each call."""

    span: Span
    name: str


@record
class Clear:
    """Empty the list, or the cache, called `name` after the backward pass at `backward_pass`, or where it was read, at `read`;
    `held` are its names, and those of others beside it, where the backward pass is, `owner` is the class whose list it is, and
    `reset` the call by which its object empties it, "" without one."""

    backward_pass: Span
    name: str
    held: tuple[str, ...] = ()
    read: Span | None = None
    owner: Span | None = None
    reset: str = ""


@record
class DropBackward:
    """Leave out the walk at `walk`, which the one at `first` makes needless; with a `step` between them, that is taken behind
    the one that stays; `exact`: and not the other one."""

    backward_pass: Span
    first: Span
    step: Span | None = None
    exact: bool = False


@record
class ComputeAnew:
    """Compute what stands at `built`, and what is made of it, again before the statement at `walk`."""

    backward_pass: Span
    built: Span


@record
class ComputeWhereUsed:
    """Compute what is bound to `name` at `span` in each function that reads it."""

    span: Span
    name: str


@record
class BackwardAlone:
    """Call backward, at `backward_pass`, on what this iteration adds to a total, and add that detached at one of `added`."""

    backward_pass: Span
    added: tuple[Span, ...]


@record
class MakeLeaf:
    """Let what is bound where `span` stands be a leaf, in place of one within its expression that nothing names."""

    span: Span


@record
class NotRecorded:
    """Let no graph be recorded of what the call at `span` makes; `why`, in words. `meant` as of `Detach`; else no optimiser
    owns any of it."""

    span: Span
    why: str
    meant: bool = False


@record
class AllowUnused:
    """Let the call of `autograd.grad` at `span` give none for what isn't in the graph, or zeros."""

    span: Span


@record
class ComputeOf:
    """Compute of what is called `given`, made at `made`, what the call at `span` differentiates, and not of `whole`."""

    span: Span
    made: Span
    given: str
    whole: str


@record
class DifferentiateWhole:
    """Ask, in the call at `span`, for the gradient of that of which a part is taken at `made`, and take that part of it."""

    span: Span
    made: Span


@record
class GiveLeaf:
    """Give the optimiser at `span` the leaf of which something is computed at `made`, and compute that in each iteration."""

    span: Span
    made: Span


@record
class Uncache:
    """Compute what stands at `span` whenever it is asked for, not only where it isn't kept from before."""

    span: Span


@record
class Uncut:
    """Take away what cuts the graph at `span`: "detach", a "choice" by a comparison, "data", "copied", "no_grad", a "switch" of gradients, a "checkpoint" of
    the kind that looks at what it is given alone; or, for the backward pass there, let a "leaf" require a gradient that requires none; or let what is made later not be "frozen" there, or what is
    "shared" be frozen as a copy; or what is asked for a gradient there not be cut off "apart" from that; or the call there be
    recorded, "around" which nothing is, or the function there "enabled" to record, or what is "drawn" there be a function of its parameters; or what goes into its loss be a leaf of which a gradient is "read"; or what is "renewed" as a leaf keep its graph; or what a call there differentiates be, where it is run with gradients "off"; or let the tensor be kept of which "numbers" are
    taken there, to be a tensor `again`; with the gradient at `creating`, which that is made of, given a graph. `beside` are
    further places of the same."""

    span: Span
    reason: str
    again: Span | None = None
    creating: Span | None = None
    beside: tuple[Span, ...] = ()


@record
class BackwardFirst:
    """Move the walk at `walk` before the change at `change`; with `parts` only the terms of a sum that were computed before it."""

    backward_pass: Span
    change: Span
    parts: bool = False


@record
class ChangeBehind:
    """Move the change at `change`, of what the step at `step` trains, behind that, or behind the call there that takes it."""

    change: Span
    step: Span


@record
class OutOfPlace:
    """Write the in-place change at `span` so that it makes a new tensor; or, with a `name`, read a clone of that there. With
    `rows` it changes the rows of a tensor, one after the other; `whole`: it overwrites all of one with another of its shape."""

    span: Span
    name: str = ""
    rows: bool = False
    whole: bool = False


@record
class UnderNoGrad:
    """Wrap what stands at `span` in `with torch.no_grad():`."""

    span: Span


@record
class StraightThrough:
    """Let what is computed at `span` pass the gradient on as if it were its input, and don't cut it off at `cut`."""

    span: Span
    cut: Span


@record
class RecordLater:
    """Let what is made in the inference mode that is asked for at `span` be used in a graph later: ask for `no_grad` there."""

    span: Span


@record
class DropRetain:
    """Take `retain_graph=True` out of the call at `walk`; `value` is where its value stands."""

    backward_pass: Span
    value: Span


@record
class AsNumber:
    """Keep the number that the tensor at `span` holds: add `.item()` to it; with `joined`, as what is kept is put together
    as tensors, `.detach()`."""

    span: Span
    joined: bool = False


@record
class DropAssignment:
    """Leave the call at `call` as a statement: what it returns is None. `span` is the whole assignment."""

    span: Span
    call: Span


@record
class RenameArgument:
    """Give the keyword argument `old` of the call at `call` the name `new`; with "", take it out."""

    call: Span
    old: str
    new: str


@record
class ZeroFirst:
    """Zero the gradients of the optimiser written as `owner` before the walk at `walk`."""

    backward_pass: Span
    owner: str


@record
class SwapZeroAndStep:
    """Exchange the calls at `zero` and at `step`, so that the step comes first."""

    zero: Span
    step: Span


@record
class AssignDetach:
    """Bind the result of the call at `span` to the name that it is called on: `name = name.detach()`."""

    span: Span
    name: str


@record
class RemoveVariable:
    """Write the argument at `argument` in place of the call `Variable(argument)` at `call`: itself if it is `bare` of a graph, else
    detached, as it is there."""

    call: Span
    argument: Span
    bare: bool


@record
class RemoveSuppression:
    """Put `left` in place of `span`: a comment that suppresses nothing with the blanks before it, or its list."""

    span: Span
    left: str


Cure: TypeAlias = (
    Detach | KeepGraph | ReadGradients | CreateGraph | SumLosses | MoveInto | MoveHook | DrawAnew | ComputeInEach | KeepInput | StartAgain | BeginAnew | PutBack | BackwardFirst | OutOfPlace | UnderNoGrad | DropRetain | AsNumber
    | DropAssignment | RenameArgument | ZeroFirst | SwapZeroAndStep | AssignDetach | RemoveVariable
    | RemoveSuppression | Clear | DropBackward | ComputeAnew | ComputeWhereUsed | BackwardAlone | MakeLeaf | NotRecorded | AllowUnused | Uncache | Uncut
    | RecordLater | ChangeBehind | StraightThrough | ComputeOf | DifferentiateWhole | GiveLeaf | MakeInCall | CallResets
)  # fmt: skip


class Applicability(Enum):
    """SAFE keeps what the program computes; UNSAFE may change it, or chooses between meanings."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@record
class Edit:
    """`text` in place of the characters from `start` up to, not including, `end`."""

    start: int
    end: int
    text: str


@record
class Replacement:
    """`text` in place of what stands at `span`, in another file than the finding's."""

    span: Span
    text: str


@record
class Fix:
    """Edits that cure one finding: `edits` in the source of its primary mark, in order, apart from each other, and
    `elsewhere` those in other files. All of them are written, or none.

    `merges` tells how many backward passes of the text the edits mean to drop; every other one must still run. With
    `cuts`, one may train less than before, if something else trains that; with `parts`, by fewer ways: what were names of
    one tensor are tensors of their own. `tells`: it is something else than its help says, so that is told in its words.
    """

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]
    merges: int = 0
    cuts: bool = False
    parts: bool = False
    elsewhere: tuple[Replacement, ...] = ()
    tells: bool = False

    def by_source(self, home: Source) -> dict[Source, tuple[Edit, ...]]:
        """The edits of each text; `home` is the finding's own."""
        found = {home: self.edits} if self.edits else {}
        for each in self.elsewhere:
            source, edit = each.span.source, Edit(each.span.start, each.span.end, each.text)
            found[source] = (*found.get(source, ()), edit)
        return found


@record
class Help:
    """One thing to do about a finding: in words, and as data where it can be tried. What
    `needs_proof` is only told if the trial proves it."""

    words: str
    cures: tuple[Cure, ...] = ()
    needs_proof: bool = False


@record
class Diagnostic:
    """One finding. `message` is one line without the place; `notes` follow the drawing; `helps` say what to do, the best
    first, and `fix` is what one of them comes to, if it was tried and proven."""

    code: str
    name: str
    severity: Severity
    message: str
    labels: tuple[Label, ...]
    notes: tuple[str, ...] = ()
    helps: tuple[Help, ...] = ()
    witness: Witness | None = None
    fix: Fix | None = None
    called: Span | None = None  # where the file that was checked calls what leads to a place in another one
    alone: str = ""  # the function or method that has to be run for itself, called by nobody of its file
    behind: int = 0  # how many failures stand before it at its place: torch comes to it once these are cured
    waits: Span | None = None  # where another surely raises before it

    @property
    def help(self) -> str:
        """All helps in one line."""
        return "; or ".join(each.words for each in self.helps)

    @property
    def cures(self) -> tuple[Cure, ...]:
        """What the helps come to, the best first."""
        return tuple(cure for each in self.helps for cure in each.cures)

    @property
    def primary(self) -> Label:
        return next(label for label in self.labels if label.primary)

    def __str__(self) -> str:
        """`train.py:14:5: error[RTL101] message`, on one line."""
        at = self.primary.span.place
        cell = "" if at.cell is None else f"cell {at.cell}:"
        where = f"{self.primary.span.source.name}:{cell}{at.row}:{at.column}"
        said = f"{where}: {self.severity.value}[{self.code}] {self.message}"
        return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in said)

    def to_dict(self) -> dict[str, Json]:
        """What `--output-format json` tells of it: rows and columns count from 1, columns in characters; an end is just
        behind its span."""
        primary = self.primary
        related: list[Json] = [
            {"cell": label.span.place.cell, **place_fields(label.span), "message": label.text}
            for label in self.labels
            if not label.primary
        ]
        return {
            "cell": primary.span.place.cell,
            "code": self.code,
            "name": self.name,
            "severity": self.severity.value,
            "message": self.message,
            **place_fields(primary.span),
            "fix": None if self.fix is None else _fix(self.fix, primary.span.source),
            "noqa_row": primary.span.place.row,
            "url": None,
            "label": primary.text,
            "related": related,
            "notes": list(self.notes),
            "help": self.help,
            "witness": None if self.witness is None else _witness(self.witness),
        }

    @property
    def place(self) -> Identity:
        """They tell findings apart, and are told in this order."""
        span = self.primary.span
        return span.source.name, span.row, span.column, self.behind, self.code


def place_fields(span: Span) -> dict[str, Json]:
    at = span.place
    return {
        "filename": os.path.abspath(span.source.name),
        "location": {"row": at.row, "column": at.column},
        "end_location": {"row": at.end_row, "column": at.end_column},
    }


def _fix(fix: Fix, home: Source) -> dict[str, Json]:
    """`edits` are those of the finding's file. Of a fix that edits another one as well there are none, as half a fix is no
    fix; all of them stand in `files` then."""
    said: dict[str, Json] = {"applicability": fix.applicability.value, "message": fix.message}
    if not fix.elsewhere:
        return {**said, "edits": [_edit(edit, home) for edit in fix.edits]}
    files: list[Json] = [
        {"filename": os.path.abspath(source.name), "edits": [_edit(edit, source) for edit in edits]}
        for source, edits in fix.by_source(home).items()
    ]
    return {**said, "edits": [], "files": files}


def _edit(edit: Edit, source: Source) -> dict[str, Json]:
    """In a notebook, rows of the cell."""
    _, row, column = source.place_in_cell(edit.start)
    _, end_row, end_column = source.place_in_cell(edit.end)
    return {
        "content": edit.text,
        "location": {"row": row, "column": column},
        "end_location": {"row": end_row, "column": end_column},
    }


def _witness(witness: Witness) -> dict[str, Json]:
    choices: list[Json] = [
        {
            **place_fields(choice.span),
            "condition": choice.span.text,
            "taken": choice.taken,
            **({"item": choice.item} if choice.item else {}),
        }
        for choice in witness.choices
    ]
    return {"choices": choices, "script": witness.script, "error": witness.error, "node": witness.node}
