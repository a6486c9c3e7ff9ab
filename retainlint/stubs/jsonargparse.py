"""`jsonargparse`: a function or a class whose parameters are options, and `argparse` with more types."""

import argparse

from retainlint.stubs import filled, unknown

MODULES = ("jsonargparse",)

ArgumentParser = argparse.ArgumentParser


def CLI(components=None, args=None, **ways):
    return filled(components) if args is None and callable(components) else unknown()


auto_cli = CLI
