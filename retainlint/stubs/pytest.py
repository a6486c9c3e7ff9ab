"""Fixtures: what a test is given under the names of its parameters. It is called by who runs a test by itself."""

from retainlint.stubs import is_generator, parameters

MODULES = ("pytest", "pytest_asyncio")

FIXTURES = {}
VALUES = {}


def fixture(function=None, *, scope="function", params=None, autouse=False, ids=None, name=None):
    def known(function):
        if "self" not in parameters(function):  # those of a class are asked on an object, which isn't at hand
            FIXTURES[name or function.__name__] = (function, scope, autouse)
        return function

    return known if function is None else known(function)


def begin():
    for name in list(VALUES):
        if FIXTURES[name][1] == "function":
            del VALUES[name]
    for name in list(FIXTURES):
        if FIXTURES[name][2]:
            value_of(name)


def value_of(name):
    if name not in VALUES:
        function = FIXTURES[name][0]
        made = function(**{each: value_of(each) for each in parameters(function) if each in FIXTURES})
        VALUES[name] = next(made) if is_generator(function) else made
    return VALUES[name]
