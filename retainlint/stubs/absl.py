"""`absl.flags`: each flag is by default what it is defined as."""

import argparse

MODULES = ("absl.flags",)

_parser = argparse.ArgumentParser()

FLAGS = _parser.parse_args()


class FlagHolder:
    def __init__(self, name):
        self.name = name

    @property
    def value(self):
        return getattr(FLAGS, self.name)


def DEFINE_string(name, default, help=None, flag_values=FLAGS, **ways):
    _parser.add_argument("--" + name, default=default)
    return FlagHolder(name)


def DEFINE_enum(name, default, enum_values=None, help=None, flag_values=FLAGS, **ways):
    return DEFINE_string(name, default)


DEFINE_bool = DEFINE_string
DEFINE_boolean = DEFINE_string
DEFINE_integer = DEFINE_string
DEFINE_float = DEFINE_string
