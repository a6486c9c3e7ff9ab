"""Records what a running program does to its graphs.

Where nodes are built, which backward pass runs through them, what is changed in place. What is noted on a graph lies in
torch's own `Node.metadata`, and goes with the node.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from retainlint.live import graphs
from retainlint.live.places import Stack, stack_of, users_frames
from retainlint.live.story import Change, Failure, Pass, Story, name_in, versions_in
from retainlint.text.name_guesses import UNCHANGING

MOST_CHANGES, MOST_STORAGES = 8, 20_000
"""So many changes are remembered of a storage, the last, and so many storages."""
MOST_STORIES = 10
"""So many failures are told of one run; a program that lives with its errors may raise thousands."""
CARRIES_NOTES = hasattr(BaseException, "add_note")
"""Whether an exception carries notes, as it does since Python 3.11; elsewhere stories are told before their traceback."""
_NOTE = "retainlint"
_QUIET = frozenset(
    {"__get__", "__set__", "backward", "item", "size", "dim", "numel", "__len__", "__hash__", "__repr__"}
)
"""Names of functions that build nothing, as far as `.grad`, `.shape` and the like go: nothing is looked up for them."""


class _Built:
    """What is noted on a node: the calls that built it, how many backward passes there had been before, and which one freed
    what it saved."""

    __slots__ = ("freed_by", "passes_before", "stack")

    def __init__(self, stack: Stack, passes_before: int) -> None:
        self.stack, self.passes_before = stack, passes_before
        self.freed_by: Pass | None = None


class Recording(TorchFunctionMode):  # type: ignore[misc]  # torch isn't known to the type checker
    """What one run does, from `__enter__` to `__exit__`; one at a time. `stories` are its failures, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.stories: list[Story] = []
        self.backward_passes = 0
        self.passed: Counter[Stack] = Counter()
        """How many backward passes went well at each place."""
        self.failed: dict[Stack, list[str]] = {}
        """What torch said of those that failed, by their places."""
        self.defects = 0
        """How often recording itself went wrong: the program goes on, and something isn't told."""
        self._changes: dict[int, deque[Change]] = {}
        self._engine: Any = None
        self._apply: Any = None

    # -- where it listens --------------------------------------------------------------------------------------------

    def __enter__(self) -> Recording:
        if isinstance(torch.autograd.Variable._execution_engine, _Engine):
            raise RuntimeError("this program is being recorded already")
        self._engine = torch.autograd.Variable._execution_engine
        torch.autograd.Variable._execution_engine = _Engine(self._engine, self)
        self._apply = vars(torch.autograd.Function)["apply"]
        torch.autograd.Function.apply = _applied(self._apply, self)
        super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        torch.autograd.Variable._execution_engine = self._engine
        torch.autograd.Function.apply = self._apply
        if error is not None and not CARRIES_NOTES:
            sys.stderr.writelines(f"{story.text()}\n" for story in self.stories)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        __tracebackhide__ = True
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name not in _QUIET and not torch.compiler.is_compiling():
            self.called(name, args, kwargs, result, sys._getframe(1))
        return result

    # -- what it hears -----------------------------------------------------------------------------------------------

    def called(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None, result: Any, frame: FrameType
    ) -> None:
        """A function of torch's, or one of the user's own for autograd, has returned."""
        try:
            self._called(name, args, kwargs, result, frame)
        except Exception:  # noqa: BLE001 -- whatever it is, it is ours, and no affair of the program
            self.defects += 1

    def _called(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None, result: Any, frame: FrameType
    ) -> None:
        stack: Stack | None = None
        for each in (result,) if isinstance(result, torch.Tensor) else _tensors(result):
            node = each.grad_fn
            if node is not None and _NOTE not in (noted := node.metadata):
                stack = stack or stack_of(frame)
                noted[_NOTE] = _Built(stack, self.backward_passes)
        changed: Any = ()
        if (name.endswith("_") and not name.endswith("__") and not UNCHANGING.takes(name)) or name in _IN_PLACE:
            changed = args[:1]
        elif kwargs and kwargs.get("out") is not None:
            changed = kwargs["out"]
        for each in (changed,) if isinstance(changed, torch.Tensor) else _tensors(changed):
            if each.layout is torch.strided and not each.is_inference() and each._version:  # others count no versions
                self._note_change(each, name, stack or stack_of(frame))

    def _note_change(self, tensor: torch.Tensor, name: str, stack: Stack) -> None:
        key = tensor.untyped_storage()._cdata
        known = self._changes.get(key)
        if known is None or known[-1].version >= tensor._version:  # what was there before is another tensor's
            if len(self._changes) >= MOST_STORAGES:
                del self._changes[next(iter(self._changes))]
            known = self._changes[key] = deque(maxlen=MOST_CHANGES)
        known.append(Change(stack, name, tensor._version, tuple(tensor.shape)))

    def run_backward(self, run: Callable[..., Any], frame: FrameType, *args: Any, **kwargs: Any) -> Any:
        """Run a backward pass, whose arguments are the engine's: outputs, gradients, keep_graph, create_graph, inputs."""
        __tracebackhide__ = True
        outputs, keep, inputs = args[0], args[2] if len(args) > 2 else False, args[4] if len(args) > 4 else ()
        stack = stack_of(frame)
        number = self.backward_passes = self.backward_passes + 1
        here = self.passed[stack] + len(self.failed.get(stack, ())) + 1
        this = Pass(number, here, stack)
        try:
            result = run(*args, **kwargs)
        except RuntimeError as error:
            self.failed.setdefault(stack, []).append(str(error))
            self._heard(self._failed, this, error, outputs, inputs or (), frame)
            raise
        self.passed[stack] += 1
        if not keep:
            self._heard(self._passed, this, outputs, inputs or ())
        return result

    def _heard(self, does: Callable[..., None], *given: Any) -> None:
        """Look at a graph, unseen by this recording; what goes wrong in that is no affair of the program."""
        try:
            with torch._C.DisableTorchFunction():
                does(*given)
        except Exception:  # noqa: BLE001 -- as above
            self.defects += 1

    def _passed(self, this: Pass, outputs: Iterable[Any], inputs: Iterable[Any]) -> None:
        for _, built in self._noted(graphs.executed(graphs.roots_of(outputs), inputs), this.stack):
            if built.freed_by is None:
                built.freed_by = this

    def _noted(
        self, nodes: Iterable[tuple[graphs.Node, graphs.Node | None]], stack: Stack
    ) -> Iterator[tuple[graphs.Node, _Built]]:
        """Nodes with what is noted on them; an inner one of an operation was built where the node that leads to it was."""
        for node, led in nodes:
            noted = node.metadata
            if _NOTE not in noted:
                by = led.metadata[_NOTE] if led is not None else None
                noted[_NOTE] = (
                    _Built(by.stack, by.passes_before) if by is not None else _Built(stack, self.backward_passes)
                )
            yield node, noted[_NOTE]

    def _failed(
        self, this: Pass, error: RuntimeError, outputs: Iterable[Any], inputs: Iterable[Any], frame: FrameType
    ) -> None:
        if len(self.stories) >= MOST_STORIES or not this.stack:
            return
        roots = graphs.roots_of(outputs)
        nodes = list(self._noted(graphs.executed(roots, inputs), this.stack))
        for why in graphs.Saved:
            if why.value not in str(error):
                continue
            lost = [each for each in nodes if graphs.lost(each[0]) is why]
            failing = max((each for each in lost if each[1].freed_by is not None), key=_made, default=None)
            failing = failing or max(lost, key=_made, default=None)  # what this pass freed itself comes last
            if failing is None:
                return
            node, built = failing
            name = str(node.name())
            if why is graphs.Saved.FREED:
                shared = {each for each, noted in nodes if noted.freed_by is built.freed_by and each.next_functions}
                border = _border(nodes, shared)
                ends = [each for each in shared if each in roots] or [after for _, after in border]
                carrier = name_in(users_frames(frame), ends)
                joins = max((each for each, _ in border), key=graphs.order, default=None)
                joined = () if joins is None or carrier else joins.metadata[_NOTE].stack
                failure = Failure(this, why, name, built.stack, built.passes_before, built.freed_by, carrier, joined)
            else:
                changes = self._changes_behind(str(error))
                failure = Failure(this, why, name, built.stack, built.passes_before, changes=changes)
            story = Story(failure)
            self.stories.append(story)
            if CARRIES_NOTES:
                error.add_note(story.text())

    def _changes_behind(self, message: str) -> tuple[Change, ...]:
        """The changes that torch complains of, by the versions that its message names."""
        named = versions_in(message)
        if named is None:
            return ()
        shape, now, expected = named
        fitting = [
            [change for change in changes if expected < change.version <= now]
            for changes in self._changes.values()
            if changes[-1].version == now
        ]
        fitting = [changes for changes in fitting if changes]
        alike = [changes for changes in fitting if any(change.shape == shape for change in changes)]
        return tuple((alike or fitting or [[]])[-1])


class _Engine:
    """Torch's engine with somebody who listens to each backward pass."""

    def __init__(self, engine: Any, recording: Recording) -> None:
        self._engine, self._recording = engine, recording

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        return self._recording.run_backward(self._engine.run_backward, sys._getframe(1), *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _applied(apply: Any, recording: Recording) -> Any:
    """`Function.apply`, of which torch tells no mode."""

    def applied(cls: Any, *args: Any, **kwargs: Any) -> Any:
        result = apply.__func__(cls, *args, **kwargs)
        recording.called("apply", args, kwargs, result, sys._getframe(1))
        return result

    return classmethod(applied)


_IN_PLACE = frozenset({
    "__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__",
    "__ior__", "__ixor__", "__ilshift__", "__irshift__",
})  # fmt: skip


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in what a function of torch takes or gives: in tuples and lists, two deep."""
    if isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, torch.Tensor):
                yield item
            elif isinstance(item, (tuple, list)):
                yield from (inner for inner in item if isinstance(inner, torch.Tensor))


def _made(noted: tuple[graphs.Node, _Built]) -> int:
    return graphs.order(noted[0])


def _border(
    nodes: Iterable[tuple[graphs.Node, _Built]], shared: set[graphs.Node]
) -> list[tuple[graphs.Node, graphs.Node]]:
    """The nodes of this pass that lead to shared ones, each with the one that it leads to."""
    return [
        (node, after)
        for node, _ in nodes
        if node not in shared
        for after, _ in node.next_functions
        if after is not None and after in shared
    ]
