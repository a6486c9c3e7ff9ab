"""`chz`: records that are made from a command line, or handed to a function."""

import dataclasses

from retainlint.stubs import filled, unknown

MODULES = ("chz",)

chz = dataclasses.dataclass


def field(*, default=..., default_factory=None, **ways):
    if default_factory is not None:
        return dataclasses.field(default_factory=default_factory)
    return dataclasses.field(default=default)


def entrypoint(target, *, argv=None, **ways):
    return filled(target) if argv is None else unknown()


def nested_entrypoint(main, *, argv=None, **ways):
    return filled(main) if argv is None else unknown()
