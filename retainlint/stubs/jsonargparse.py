"""`jsonargparse`: a function or a class whose parameters are options, and `argparse` with more types."""

import argparse

from retainlint.stubs import filled

MODULES = ("jsonargparse",)

ArgumentParser = argparse.ArgumentParser


def _given(value):
    """Called without a value, it gives what nobody knows."""
    return value


def CLI(components=None, args=None, **ways):
    return filled(components) if args is None and callable(components) else _given()


auto_cli = CLI
