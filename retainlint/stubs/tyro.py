"""Functions that fill the fields of a class, or the parameters of a function, from a command line."""

from retainlint.stubs import filled, unknown

MODULES = ("tyro",)


def cli(f, *, prog=None, description=None, args=None, default=None, **ways):
    return unknown() if args is not None else filled(f if default is None else default)
