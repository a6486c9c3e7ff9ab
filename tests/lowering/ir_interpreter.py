"""Runs ir on real Python values: a program lowered rightly prints what Python prints.

Wherever an instruction says what is live, everything else is forgotten, so that the liveness is put to the proof too.
"""

from __future__ import annotations

import builtins
import importlib
import operator
import types
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, TypeVar

from retainlint import ir
from retainlint.lowering import lower
from retainlint.text.source import Source

_BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "+": (operator.add, operator.iadd),
    "-": (operator.sub, operator.isub),
    "*": (operator.mul, operator.imul),
    "@": (operator.matmul, operator.imatmul),
    "/": (operator.truediv, operator.itruediv),
    "//": (operator.floordiv, operator.ifloordiv),
    "%": (operator.mod, operator.imod),
    "**": (operator.pow, operator.ipow),
    "<<": (operator.lshift, operator.ilshift),
    ">>": (operator.rshift, operator.irshift),
    "&": (operator.and_, operator.iand),
    "|": (operator.or_, operator.ior),
    "^": (operator.xor, operator.ixor),
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
    "is": operator.is_,
    "is not": operator.is_not,
}
_END = object()


class Signal(NamedTuple):
    """How a block was left: "return", "break" or "continue"."""

    kind: str
    value: Any = None


class Stopped(Exception):
    """A StopIteration of the program, which must not end the generators that the interpreter is made of."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def _original(error: BaseException) -> BaseException:
    return error.error if isinstance(error, Stopped) else error


Run = Generator[Any, Any, Any]


class Forgotten(BaseException):
    """A register is read that the liveness had called dead, or that nobody wrote."""


class Registers(dict[int, Any]):
    def __missing__(self, register: int) -> Any:
        raise Forgotten(register)


class Frame:
    """One activation of a code. `made` is, for a class body's frame, the class once there is one."""

    def __init__(self, code: ir.Code, outer: Frame | None, world: dict[str, Any], names: dict[str, Any]) -> None:
        self.code = code
        self.outer = outer
        self.globals = world
        self.names = names
        self.registers = Registers()
        self.made: type | None = None
        self.is_class = False

    def holder(self, name: str) -> Frame:
        """The frame around this one that has `name` for a local."""
        frame = self.outer
        while frame is not None:
            if name in frame.code.local_names and (not frame.is_class or "#" in name):
                return frame
            frame = frame.outer
        raise AssertionError(f"nobody holds {name}")

    def forget(self, live: ir.Live) -> None:
        self.registers = Registers((key, value) for key, value in self.registers.items() if key in live.registers)
        if not self.is_class:
            for name in set(self.names) & self.code.local_names - live.names:
                del self.names[name]


def execute(text: str, world: dict[str, Any]) -> None:
    """Run a program whose globals are `world`."""
    program = lower(Source("program.py", text))
    frame = Frame(program.module, None, world, world)
    try:
        for _ in _block(program.module.body, frame):
            raise AssertionError("a module yields")
    except Stopped as stopped:
        raise stopped.error from None


def _block(body: ir.Block, frame: Frame) -> Run:
    """A generator that yields what the code yields, and returns how the block was left."""
    for instr in body:
        if (compound := _COMPOUND.get(type(instr))) is not None:
            signal = yield from compound(instr, frame)
            if signal is not None:
                return signal
        else:
            try:
                _PLAIN[type(instr)](instr, frame)
            except StopIteration as error:
                raise Stopped(error) from error
    return None


# -- plain instructions -------------------------------------------------------------------------------------------


def _load(instr: ir.Load, frame: Frame) -> None:
    frame.registers[instr.dst] = _looked_up(instr.name, instr.scope, frame)


def _looked_up(name: str, scope: ir.Scope, frame: Frame) -> Any:
    if scope is ir.Scope.LOCAL and name in frame.names:
        return frame.names[name]
    if scope is ir.Scope.LOCAL and not frame.is_class:
        raise UnboundLocalError(name)
    if scope is ir.Scope.ENCLOSING:
        names = frame.holder(name).names
        if name not in names:
            raise NameError(name)
        return names[name]
    if name in frame.globals:
        return frame.globals[name]
    if not hasattr(builtins, name):
        raise NameError(name)
    return getattr(builtins, name)


def _names(name: str, scope: ir.Scope, frame: Frame) -> dict[str, Any]:
    if scope is ir.Scope.LOCAL:
        assert name in frame.code.local_names, name
        return frame.names
    return frame.globals if scope is ir.Scope.GLOBAL else frame.holder(name).names


def _store(instr: ir.Store, frame: Frame) -> None:
    _names(instr.name, instr.scope, frame)[instr.name] = frame.registers[instr.src]


def _delete(instr: ir.Delete, frame: Frame) -> None:
    names = _names(instr.name, instr.scope, frame)
    if instr.name not in names:
        raise (UnboundLocalError if instr.scope is ir.Scope.LOCAL and not frame.is_class else NameError)(instr.name)
    del names[instr.name]


def _call(instr: ir.Call, frame: Frame) -> None:
    func = frame.registers[instr.func]
    if func is super and not instr.args:
        frame.registers[instr.dst] = _super(frame)
        return
    args, keywords = _arguments(instr.args, frame)
    if func is locals or func is globals:
        func = (frame.names if func is locals else frame.globals).copy
    elif func is eval:
        args += [frame.globals, frame.names]
    frame.registers[instr.dst] = func(*args, **keywords)


def _super(frame: Frame) -> Any:
    around: Frame | None = frame
    while around is not None and not around.is_class:
        around = around.outer
    assert around is not None and around.made is not None
    return super(around.made, frame.names[frame.code.params[0].name])


def _arguments(args: tuple[ir.Arg, ...], frame: Frame) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for arg in args:
        value = frame.registers[arg.value]
        if arg.star == 1:
            positional.extend(value)
        elif arg.star == 2:
            keywords.update(value)
        elif arg.name is not None:
            keywords[arg.name] = value
        else:
            positional.append(value)
    return positional, keywords


def _build(instr: ir.Build, frame: Frame) -> None:
    items = instr.items
    values: list[Any] = []
    if instr.kind is ir.Kind.DICT:
        mapping: dict[Any, Any] = {}
        for item in items:
            _into(mapping, item, frame)
        frame.registers[instr.dst] = mapping
        return
    if instr.kind is ir.Kind.STRING:
        frame.registers[instr.dst] = _joined(instr, frame)
        return
    for item in items:
        _into(values, item, frame)
    kinds: dict[ir.Kind, Callable[[list[Any]], Any]] = {
        ir.Kind.TUPLE: tuple,
        ir.Kind.LIST: list,
        ir.Kind.SET: set,
        ir.Kind.SLICE: lambda parts: slice(*parts),
    }
    frame.registers[instr.dst] = kinds[instr.kind](values)


def _joined(instr: ir.Build, frame: Frame) -> str:
    """Formatted in the items' order, behind the computation of all: that can be seen by `__format__` alone."""
    pieces = [instr.texts[0]]
    conversions: dict[str, Callable[[Any], Any]] = {"": lambda value: value, "r": repr, "s": str, "a": ascii}
    for item, text in zip(instr.items, instr.texts[1:], strict=True):
        spec = item.spec if isinstance(item.spec, str) else frame.registers[item.spec]
        pieces += (format(conversions[item.conversion](frame.registers[item.value]), spec), text)
    return "".join(pieces)


def _into(container: Any, item: ir.Item, frame: Frame) -> None:
    value = frame.registers[item.value]
    if isinstance(container, dict):
        if item.key is None:
            assert item.starred
            container.update(value)
        else:
            container[frame.registers[item.key]] = value
    elif isinstance(container, list):
        container.extend(value) if item.starred else container.append(value)
    else:
        container.update(value) if item.starred else container.add(value)


def _unpack(instr: ir.Unpack, frame: Frame) -> None:
    values = list(frame.registers[instr.src])
    if instr.star is None:
        if len(values) != len(instr.dsts):
            raise ValueError("wrong number of values to unpack")
    else:
        behind = len(instr.dsts) - instr.star - 1
        if len(values) < len(instr.dsts) - 1:
            raise ValueError("not enough values to unpack")
        until = len(values) - behind
        values[instr.star : until] = [values[instr.star : until]]
    frame.registers.update(zip(instr.dsts, values, strict=True))


def _import(instr: ir.Import, frame: Frame) -> None:
    assert instr.level == 0
    module = importlib.import_module(instr.module)
    if instr.name == "*":
        frame.globals.update({name: value for name, value in vars(module).items() if name in module.__all__})
    elif instr.name is None:
        frame.registers[instr.dst] = importlib.import_module(instr.module.partition(".")[0])
    elif instr.name == "":
        frame.registers[instr.dst] = module
    else:
        try:
            frame.registers[instr.dst] = getattr(module, instr.name)
        except AttributeError as error:
            raise ImportError(instr.name) from error


def _make_function(instr: ir.MakeFunction, frame: Frame) -> None:
    code = instr.code
    defaults = {p.name: frame.registers[p.default] for p in code.params if p.default is not None}

    def start(args: tuple[Any, ...], keywords: dict[str, Any]) -> Run:
        inner = Frame(code, frame, frame.globals, _bound(code, defaults, args, keywords))
        return _body(inner)

    if code.is_async:

        async def function(*args: Any, **keywords: Any) -> Any:
            return await types.coroutine(start)(args, keywords)

    elif code.is_generator:

        def function(*args: Any, **keywords: Any) -> Any:  # type: ignore[misc]
            return start(args, keywords)

    else:

        def function(*args: Any, **keywords: Any) -> Any:  # type: ignore[misc]
            try:
                next(start(args, keywords))
            except StopIteration as stop:
                return stop.value
            except Stopped as stopped:
                raise stopped.error from None
            raise AssertionError("a plain function yields")

    function.__name__, function.__qualname__ = code.name, code.qualname
    frame.registers[instr.dst] = function


def _body(frame: Frame) -> Run:
    try:
        signal = yield from _block(frame.code.body, frame)
    except Stopped as error:
        if not frame.code.is_generator and not frame.code.is_async:
            raise
        raise RuntimeError("generator raised StopIteration") from error
    return None if signal is None else signal.value


def _bound(
    code: ir.Code, defaults: Mapping[str, Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """The locals that a call starts with."""
    names: dict[str, Any] = {}
    left, given = list(args), dict(keywords)
    for param in code.params:
        if param.kind in {"positional", "normal"} and left:
            names[param.name] = left.pop(0)
            if param.kind == "normal" and param.name in given:
                raise TypeError(f"multiple values for {param.name}")
        elif param.kind == "star":
            names[param.name], left = tuple(left), []
        elif param.kind == "doublestar":
            names[param.name], given = given, {}
        elif param.kind != "positional" and param.name in given:
            names[param.name] = given.pop(param.name)
        elif param.name in defaults:
            names[param.name] = defaults[param.name]
        else:
            raise TypeError(f"missing {param.name}")
    if left or given:
        raise TypeError("too many arguments")
    return names


def _make_class(instr: ir.MakeClass, frame: Frame) -> None:
    bases, keywords = _arguments(instr.bases, frame)
    inner = Frame(instr.code, frame, frame.globals, {})
    inner.is_class = True

    def fill(names: dict[str, Any]) -> None:
        inner.names = names
        for _ in _block(instr.code.body, inner):
            raise AssertionError("a class body yields")
        inner.names = dict(names)  # a lambda may read a comprehension's variable long after
        for name in [name for name in names if "#" in name]:
            del names[name]

    inner.made = types.new_class(instr.code.name, tuple(bases), keywords, fill)
    frame.registers[instr.dst] = inner.made


def _decorate(instr: ir.Decorate, frame: Frame) -> None:
    frame.registers[instr.dst] = frame.registers[instr.decorator](frame.registers[instr.target])


def _binary(instr: ir.Binary, frame: Frame) -> None:
    left, right = frame.registers[instr.left], frame.registers[instr.right]
    frame.registers[instr.dst] = _BINARY[instr.op][instr.in_place](left, right)


def _type(instr: ir.MakeType, frame: Frame) -> None:
    frame.registers[instr.dst] = TypeVar(instr.name)


def _opaque(instr: ir.Opaque, frame: Frame) -> None:
    if instr.dst is not None:
        frame.registers[instr.dst] = instr.reason


def _set_item(instr: ir.SetItem, frame: Frame) -> None:
    frame.registers[instr.obj][frame.registers[instr.index]] = frame.registers[instr.src]


def _del_item(instr: ir.DelItem, frame: Frame) -> None:
    del frame.registers[instr.obj][frame.registers[instr.index]]


def _put(compute: Callable[[Any, dict[int, Any]], Any]) -> Callable[[Any, Frame], None]:
    def run(instr: Any, frame: Frame) -> None:
        frame.registers[instr.dst] = compute(instr, frame.registers)

    return run


_PLAIN: dict[type, Callable[[Any, Frame], None]] = {
    ir.Const: _put(lambda instr, registers: instr.value),
    ir.Move: _put(lambda instr, registers: registers[instr.src]),
    ir.Load: _load,
    ir.Store: _store,
    ir.Delete: _delete,
    ir.GetAttr: _put(lambda instr, registers: getattr(registers[instr.obj], instr.name)),
    ir.SetAttr: lambda instr, frame: setattr(frame.registers[instr.obj], instr.name, frame.registers[instr.src]),
    ir.DelAttr: lambda instr, frame: delattr(frame.registers[instr.obj], instr.name),
    ir.GetItem: _put(lambda instr, registers: registers[instr.obj][registers[instr.index]]),
    ir.SetItem: _set_item,
    ir.DelItem: _del_item,
    ir.Unary: _put(lambda instr, registers: _UNARY[instr.op](registers[instr.operand])),
    ir.Binary: _binary,
    ir.Compare: _put(lambda instr, registers: _COMPARE[instr.op](registers[instr.left], registers[instr.right])),
    ir.Call: _call,
    ir.Build: _build,
    ir.Append: lambda instr, frame: _into(frame.registers[instr.container], instr.item, frame),
    ir.Unpack: _unpack,
    ir.Import: _import,
    ir.MakeFunction: _make_function,
    ir.MakeClass: _make_class,
    ir.Decorate: _decorate,
    ir.MakeType: _type,
    ir.Opaque: _opaque,
}


# -- what may yield, and what branches ----------------------------------------------------------------------------


def _yield(instr: ir.Yield, frame: Frame) -> Run:
    src = frame.registers[instr.src]
    if instr.delegates:
        frame.registers[instr.dst] = yield from src
    else:
        frame.registers[instr.dst] = yield src
    return None


def _await(instr: ir.Await, frame: Frame) -> Run:
    frame.registers[instr.dst] = yield from frame.registers[instr.src].__await__()
    return None


def _if(instr: ir.If, frame: Frame) -> Run:
    signal = yield from _block(instr.then if frame.registers[instr.cond] else instr.orelse, frame)
    if signal is None:
        frame.forget(instr.live)
    return signal


def _for(instr: ir.For, frame: Frame) -> Run:
    iterable = frame.registers[instr.iterable]
    waits = hasattr(iterable, "__aiter__")
    items = iterable.__aiter__() if waits else iter(iterable)
    while True:
        frame.forget(instr.live_iteration)
        assert frame.registers[instr.iterable] is iterable
        if waits:
            try:
                item = yield from items.__anext__().__await__()
            except StopAsyncIteration:
                item = _END
        else:
            item = next(items, _END)
        if item is _END:
            return (yield from _exhausted(instr, frame))
        frame.registers[instr.item] = item
        signal = yield from _block(instr.body, frame)
        if signal is not None and signal.kind != "continue":
            return _left(signal, instr, frame)


def _while(instr: ir.While, frame: Frame) -> Run:
    while True:
        frame.forget(instr.live_iteration)
        yield from _block(instr.test, frame)
        if not frame.registers[instr.cond]:
            return (yield from _exhausted(instr, frame))
        signal = yield from _block(instr.body, frame)
        if signal is not None and signal.kind != "continue":
            return _left(signal, instr, frame)


def _exhausted(instr: ir.For | ir.While, frame: Frame) -> Run:
    """A jump in a loop's `else` is one of the loop around."""
    signal = yield from _block(instr.orelse, frame)
    if signal is None:
        frame.forget(instr.live)
    return signal


def _left(signal: Signal, instr: ir.For | ir.While, frame: Frame) -> Signal | None:
    if signal.kind == "return":
        return signal
    frame.forget(instr.live)
    return None


def _with(instr: ir.With, frame: Frame) -> Run:
    context = frame.registers[instr.context]
    waits = not hasattr(type(context), "__enter__")
    entered = type(context).__aenter__(context) if waits else type(context).__enter__(context)
    frame.registers[instr.dst] = (yield from entered.__await__()) if waits else entered
    try:
        signal = yield from _block(instr.body, frame)
    except BaseException as error:
        error = _original(error)
        swallowed = _left_with(frame.registers[instr.context], waits, type(error), error, error.__traceback__)
        if not ((yield from swallowed.__await__()) if waits else swallowed):
            raise
        signal = None
    else:
        done = _left_with(frame.registers[instr.context], waits, None, None, None)
        if waits:
            yield from done.__await__()
    if signal is None:
        frame.forget(instr.live)
    return signal


def _left_with(context: Any, waits: bool, *error: Any) -> Any:
    return type(context).__aexit__(context, *error) if waits else type(context).__exit__(context, *error)


def _try(instr: ir.Try, frame: Frame) -> Run:
    """A `finally` that is left by a jump takes the place of what was under way, be it an exception."""
    try:
        signal = yield from _guarded(instr, frame)
    except BaseException:
        if instr.final:
            last = yield from _block(instr.final, frame)  # inside of the handler, for a bare `raise` in it
            if last is not None:
                return last
        raise
    if instr.final:
        last = yield from _block(instr.final, frame)
        signal = signal if last is None else last
    if signal is None:
        frame.forget(instr.live)
    return signal


def _guarded(instr: ir.Try, frame: Frame) -> Run:
    try:
        signal = yield from _block(instr.body, frame)
    except BaseException as error:
        if instr.is_group:
            return (yield from _grouped(instr, frame, error))
        for handler in instr.handlers:
            yield from _block(handler.test, frame)
            if handler.type is None or isinstance(_original(error), frame.registers[handler.type]):
                frame.registers[handler.dst] = _original(error)
                return (yield from _block(handler.body, frame))
        raise
    if signal is None:
        signal = yield from _block(instr.orelse, frame)
    return signal


def _grouped(instr: ir.Try, frame: Frame, error: BaseException) -> Run:
    """`except*`: each handler has its part of a group, the rest is raised; what the handlers raise goes last."""
    group: Any = vars(builtins)["BaseExceptionGroup"]  # since 3.11
    rest: Any = _original(error)
    naked = not isinstance(rest, group)
    raised: list[BaseException] = []
    for handler in instr.handlers:
        yield from _block(handler.test, frame)
        kind = frame.registers[handler.type or 0]
        if rest is None:
            continue
        if naked:
            part, rest = (group("", [rest]), None) if isinstance(rest, kind) else (None, rest)
        else:
            part, rest = rest.split(kind)
        if part is not None:
            frame.registers[handler.dst] = part
            try:
                yield from _block(handler.body, frame)
            except BaseException as another:  # noqa: BLE001 -- whatever it raises is raised behind the last
                raised.append(another)
    raised += [] if rest is None else [rest]
    if len(raised) > 1:
        raise group("", raised)
    if raised:
        raise raised[0]
    return None


def _leave(kind: str) -> Callable[[Any, Frame], Run]:
    def run(instr: Any, frame: Frame) -> Run:
        return Signal(kind)
        yield

    return run


def _return(instr: ir.Return, frame: Frame) -> Run:
    return Signal("return", frame.registers[instr.src])
    yield


def _raise(instr: ir.Raise, frame: Frame) -> Run:
    if instr.src is None:
        raise
    error = frame.registers[instr.src]
    error = error() if isinstance(error, type) else error
    raise Stopped(error) if isinstance(error, StopIteration) else error
    yield


_COMPOUND: dict[type, Callable[[Any, Frame], Run]] = {
    ir.Yield: _yield,
    ir.Await: _await,
    ir.If: _if,
    ir.For: _for,
    ir.While: _while,
    ir.With: _with,
    ir.Try: _try,
    ir.Break: _leave("break"),
    ir.Continue: _leave("continue"),
    ir.Return: _return,
    ir.Raise: _raise,
}
