"""ir as compact text, for tests to compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from retainlint import ir

_ASIDE = {"span", "live", "live_iteration", "carried"}


def printed(code: ir.Code) -> str:
    """One instruction a line, blocks indented, registers as `r1`; spans and liveness left out."""
    return "\n".join(_code(code, ""))


def _code(code: ir.Code, indent: str) -> Iterator[str]:
    params = ", ".join(f"{param.kind} {param.name}" + _default(param) for param in code.params)
    marks = [f"local {' '.join(sorted(code.local_names))}"] if code.local_names else []
    marks += [f"captured {' '.join(sorted(code.captured))}"] if code.captured else []
    marks += ["generator"] if code.is_generator else []
    marks += ["async"] if code.is_async else []
    yield f"{indent}code {code.qualname or code.name}({params})" + "".join(f"; {mark}" for mark in marks)
    yield from _block(code.body, indent + "  ")


def _default(param: ir.Param) -> str:
    text = f": {param.annotation}" if param.annotation is not None else ""
    return text + (f" = r{param.default}" if param.default is not None else "")


def _block(block: ir.Block, indent: str) -> Iterator[str]:
    for instr in block:
        yield from _instr(instr, indent)


def _instr(instr: ir.Instr | ir.Handler, indent: str) -> Iterator[str]:
    """The plain fields on the instruction's line, then its blocks, each under its name."""
    plain, blocks, codes = [], [], []
    for each in fields(instr):
        value = getattr(instr, each.name)
        if each.name in _ASIDE:
            continue
        if isinstance(value, ir.Code):
            codes.append(value)
        elif each.name in {"then", "orelse", "body", "final", "test"}:
            blocks.append((each.name, value))
        elif each.name == "handlers":
            blocks.extend(("handler", (handler,)) for handler in value)
        elif each.type == "Register" or (each.type == "Register | None" and value is not None):
            plain.append(f"{each.name}=r{value}" if each.name != "dst" else f"r{value}")
        elif each.name == "texts":
            plain.extend(map(repr, value))
        elif value not in (None, False, 0) or each.name == "value":
            plain.append(_shown(value))
    yield f"{indent}{type(instr).__name__} {' '.join(plain)}".rstrip()
    for code in codes:
        yield from _code(code, indent + "  ")
    for name, block in blocks:
        if block:
            yield f"{indent} {name}:"
            yield from _block(block, indent + "  ")


def _shown(value: object) -> str:
    if isinstance(value, ir.Scope):
        return value.value
    if isinstance(value, ir.Kind):
        return value.value
    if isinstance(value, ir.Arg):
        return "*" * value.star + (f"{value.name}=" if value.name else "") + f"r{value.value}"
    if isinstance(value, ir.Item):
        spec = f":r{value.spec}" if isinstance(value.spec, int) else f":{value.spec}" * bool(value.spec)
        form = f"!{value.conversion}" * bool(value.conversion) + spec
        return "*" * value.starred + (f"r{value.key}:" if value.key is not None else "") + f"r{value.value}" + form
    if isinstance(value, tuple):
        return "(" + " ".join(f"r{each}" if isinstance(each, int) else _shown(each) for each in value) + ")"
    return repr(value)
