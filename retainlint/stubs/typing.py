"""What of `typing` is called while a program runs."""

MODULES = ("typing", "typing_extensions")


def cast(typ, val):
    return val
