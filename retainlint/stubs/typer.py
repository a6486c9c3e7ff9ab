"""`typer`: what is said of an option, or an argument, in the place of a default holds one."""

from retainlint.stubs import filled, option

MODULES = ("typer", "typer.params", "typer.main")


def Option(default=..., *names, **ways):
    return option(default)


def Argument(default=..., **ways):
    return option(default)


def run(function):
    filled(function)
