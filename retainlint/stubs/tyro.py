"""Functions that fill the fields of a class, or the parameters of a function, from a command line."""

from retainlint.stubs import filled

MODULES = ("tyro",)


def _given(value):
    """Called without a value, it gives what nobody knows."""
    return value


def cli(f, *, prog=None, description=None, args=None, default=None, **ways):
    return _given() if args is not None else filled(f if default is None else default)
