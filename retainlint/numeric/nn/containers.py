"""Modules and parameters in order, in lists and in dictionaries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from retainlint.numeric.nn.module import Module, Parameter


class _Listed(Module):
    """Children numbered from 0."""

    def _number(self, index: int) -> str:
        count = len(self._modules)
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of range")
        return str(index % count)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._of(list(self._modules.items())[index])
        return self._modules[self._number(index) if isinstance(self, ModuleList) else list(self._modules)[index]]

    def _of(self, items: list[tuple[str, Any]]) -> Any:
        return type(self)(OrderedDict(items))

    def __setitem__(self, index: int, module: Module) -> None:
        self._modules[list(self._modules)[index]] = module

    def __delitem__(self, index: Any) -> None:
        known = list(self._modules.values())
        del known[index]
        self._modules.clear()
        self.extend(m for m in known if m is not None)

    def append(self, module: Module) -> Any:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        known = list(self._modules.values())
        known.insert(index, module)
        self._modules.clear()
        return self.extend([m for m in known if m is not None])


class Sequential(_Listed):
    """One module after another."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for number, module in enumerate(args):
                if not isinstance(module, Module):
                    raise TypeError(f"{module!r} is not a Module subclass")
                self.add_module(str(number), module)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *other)


class ModuleList(_Listed):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def _of(self, items: list[tuple[str, Any]]) -> Any:
        return ModuleList(module for _, module in items)

    def __repr__(self) -> str:
        if not len(self):
            return "ModuleList()"
        shown = [repr(module) for module in self]
        runs: list[tuple[int, int]] = []
        for number, text in enumerate(shown):
            if runs and shown[runs[-1][0]] == text:
                runs[-1] = (runs[-1][0], number)
            else:
                runs.append((number, number))
        lines = []
        for first, last in runs:
            text = shown[first].replace("\n", "\n  ")
            lines.append(f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}")
        return "ModuleList(\n  " + "\n  ".join(lines) + "\n)"


class _Named(Module):
    """Entries by name, all in one of the module's dictionaries."""

    def _entries(self) -> dict[str, Any]:
        raise NotImplementedError

    def __getitem__(self, key: str) -> Any:
        return self._entries()[key]

    def __delitem__(self, key: str) -> None:
        del self._entries()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._entries()

    def __len__(self) -> int:
        return len(self._entries())

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def keys(self) -> Any:
        return self._entries().keys()

    def values(self) -> Any:
        return self._entries().values()

    def items(self) -> Any:
        return self._entries().items()


class ModuleDict(_Named):
    """Modules by name."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def _entries(self) -> dict[str, Any]:
        return self._modules

    def update(self, modules: Any) -> None:
        for name, module in modules.items() if isinstance(modules, Mapping) else modules:
            self.add_module(name, module)

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        for value in values or ():
            self.append(value)

    def append(self, value: Any) -> Any:
        setattr(self, str(self._size), value if isinstance(value, Parameter) else Parameter(value))
        self._size += 1
        return self

    def __getitem__(self, index: int) -> Any:
        return getattr(self, str(index % self._size))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._size))


class ParameterDict(_Named):
    """Parameters by name."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        for name, value in (values or {}).items():
            self[name] = value

    def _entries(self) -> dict[str, Any]:
        return self._parameters

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, value if isinstance(value, Parameter) else Parameter(value))
