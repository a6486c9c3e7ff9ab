"""`simple_parsing`: classes whose fields a command line, or a file, may set."""

import argparse
import dataclasses

from retainlint.stubs import filled, unknown

MODULES = ("simple_parsing", "simple_parsing.parsing", "simple_parsing.helpers", "simple_parsing.helpers.fields")


def field(default=..., *, default_factory=None, **ways):
    if default_factory is not None:
        return dataclasses.field(default_factory=default_factory)
    return dataclasses.field(default=default)


def parse(config_class, config_path=None, args=None, default=None, **ways):
    return ArgumentParser().unknown() if args is not None else filled(config_class if default is None else default)


class ArgumentParser:
    def __init__(self, *args, **ways):
        self.parser = argparse.ArgumentParser()
        self.classes = []

    def add_argument(self, *names, **ways):
        self.parser.add_argument(*names, **ways)

    def add_arguments(self, dataclass, dest, *, prefix="", default=None, **ways):
        self.classes.append((dest, dataclass if default is None else default))

    def parse_args(self, args=None, namespace=None, **ways):
        made = self.parser.parse_args(args)
        for dest, dataclass in self.classes:
            setattr(made, dest, filled(dataclass) if args is None else unknown())
        return made

    def parse_known_args(self, args=None, namespace=None, **ways):
        return self.parse_args(args), []
