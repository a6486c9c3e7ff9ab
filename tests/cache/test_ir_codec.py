"""What is written of a lowered module is read again as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from retainlint import ir, program
from retainlint.cache import ir_codec
from retainlint.lowering import lower, lower_body, lower_partly
from retainlint.symbolic import explore
from retainlint.text.source import Source, Span

ROOT = Path(__file__).resolve().parents[2]
OURS = [
    path for path in sorted(ROOT.glob("retainlint/**/*.py")) if path.name != "notebook.py"
]  # it spells half a character
TEXTS = OURS[::6] + sorted(ROOT.glob("fixtures/*/*.py"))[::25]


def read(line: bytes, source: Source) -> Any:
    return ir_codec.read(line, source, lambda head: lower_body(source, head))


def again(before: program.Program) -> program.Program:
    """The program, written and read."""
    line, _ = ir_codec.written((before.module, before.gaps))
    return program.Program(before.source, *read(line, before.source))


def parts(value: object) -> Iterator[object]:
    """All that a program is made of, in order; what waits is asked for."""
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from parts(each)
    elif isinstance(value, Span):
        yield (value.start, value.end)
    elif isinstance(value, Source):
        yield value.name
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.compare:
                yield field.name
                yield from parts(getattr(value, field.name))
    else:
        yield (type(value), value)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "waiting"])
def test_a_module_is_read_as_it_was(path: Path, whole: bool) -> None:
    program = lower(Source.decode(path.name, path.read_bytes()), whole=whole)
    assert list(parts(again(program))) == list(parts(program))


@pytest.mark.parametrize("path", TEXTS[::4], ids=lambda path: path.stem)
def test_a_body_is_read_as_it_was(path: Path) -> None:
    source = Source.decode(path.name, path.read_bytes())
    for waiting in ir_codec.written(lower(source).module)[1]:
        code = lower_body(source, waiting.head)
        assert list(parts(read(ir_codec.written(code)[0], source))) == list(parts(code))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_part_is_read_as_it_was(path: Path) -> None:
    source = Source.decode(path.name, path.read_bytes())
    program = lower_partly(source)
    assert program.parts is not None
    for number, part in enumerate(program.parts.all):
        block = program.parts.block(number)
        assert list(parts(read(ir_codec.written(block)[0], source))) == list(parts(block))
        outline = (), ((0, 1),), (), (part,)
        assert list(parts(read(ir_codec.written(outline)[0], source))) == list(parts(outline))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_parts_are_what_the_whole_is_made_of(path: Path) -> None:
    """A part's instructions are those of its rows in the whole module, but for the numbers of registers and what is live."""
    source = Source.decode(path.name, path.read_bytes())
    program, whole = lower_partly(source), lower(source)
    assert program.parts is not None
    found = [instr for number in range(len(program.parts.all)) for instr in program.parts.block(number)]
    assert [(type(each), each.span.start, each.span.end) for each in found] == [
        (type(each), each.span.start, each.span.end) for each in whole.module.body
    ]


@pytest.mark.parametrize("path", sorted(ROOT.glob("fixtures/raises/*.py"))[::20], ids=lambda path: path.stem)
def test_what_is_found_in_it_is_the_same(path: Path) -> None:
    program = lower(Source.decode(path.name, path.read_bytes()))
    first, second = explore(program), explore(again(program))
    assert first.steps == second.steps and list(parts(first.incidents)) == list(parts(second.incidents))
    assert first.incidents


@pytest.mark.parametrize(
    "value",
    ["1", "True", "None", "...", "0x7fffffffffffffffffff", "1.0", "-0.0", "1e999", "2j", "1e999j", r"b'\xff\n'", r"'\n\u2028'",
     r"'\ud800'[:0]", "'\U0001f600'", "''", "'retainlint'"],
)  # fmt: skip
def test_values_stay_what_they_are(value: str) -> None:
    program = lower(Source("a.py", f"x = {value}\ny = [x, {value}]\n"))
    if "ud800" not in value:
        assert list(parts(again(program))) == list(parts(program))


@pytest.mark.parametrize("value", [r"'\ud83d' '\ude00'", r"'\ud800'", r"f'{1}\ud800'", "0x1" + 5_000 * "0"])
def test_what_json_would_change_is_not_written(value: str) -> None:
    program = lower(Source("a.py", f"x = {value}\n"))
    try:
        found = again(program)
    except ValueError:
        return
    assert list(parts(found)) == list(parts(program))


EVERYTHING = """
import a.b
x = y = -a.b[0] if a else [*b, {1: 2, **c}]
del x, y.z, y[0]
y.z, *y[1:2] = f"{x!r:>{y}}" @ x < (x is y)
@x
async def f(a, /, b: int = 1, *c, d, **e):
    global g
    async with a as g: await b
    for g in c:
        if d: continue
        else: break
    while x: return (yield 1)
    try: raise
    except E as e: pass
    finally: h = [i async for i in b for b in (yield from c)]
class C(x, k=y):
    z: int = 1
match x:
    case C(): pass
"""


def test_every_class_of_instructions_can_be_written() -> None:
    program = lower(Source("a.py", EVERYTHING), whole=True)
    assert list(parts(again(program))) == list(parts(program))
    seen = {type(each) for each in instructions(program.module)} | {ir.MakeType, ir.Opaque}
    assert seen >= set(get_args(ir.Instr)), set(get_args(ir.Instr)) - seen


def test_what_no_text_here_spells_can_be_written() -> None:
    source = Source("a.py", "x")
    span = Span(source, 0, 1)
    code = ir.Code("f", "f", span, (ir.MakeType(span, 1, "T"), ir.Opaque(span, "unseen", 2), ir.Opaque(span, "unseen")))
    assert list(parts(read(ir_codec.written(code)[0], source))) == list(parts(code))


def instructions(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for each in value:
            yield from instructions(each)
    elif dataclasses.is_dataclass(value) and not isinstance(value, (Span, Source)):
        yield value
        for field in dataclasses.fields(value):
            yield from instructions(getattr(value, field.name))


def test_a_function_that_could_not_be_read_is_not_written() -> None:
    source = Source("a.py", "def f(): pass\n")
    span = Span(source, 0, 13)
    block = (ir.Opaque(span, "the body of `f` can't be read"),)
    for one in (block, ir.Code("f", "f", span, block)):
        with pytest.raises(ValueError):
            ir_codec.written(one)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"[[],[9999]]",
        b"[[],[8]]",
        b'[[],["os.system"]]',
        b"null",
        b"[[],[5,0,0,7]]",
        b"[[],[5,1,0,0]]",
        b"[[],[6,0]]",
    ],
)
def test_of_other_data_nothing_is_made(line: bytes) -> None:
    with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
        read(line, Source("a.py", "x = 1\n"))
