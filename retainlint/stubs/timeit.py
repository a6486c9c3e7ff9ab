"""Timing: what is timed is called again and again, unless it is a text."""

from retainlint.stubs import unknown

MODULES = ("timeit",)


class Timer:
    def __init__(self, stmt="pass", setup="pass", timer=None, globals=None):
        self.stmt = stmt
        self.setup = setup

    def timeit(self, number=1000000):
        if callable(self.setup):
            self.setup()
        for _ in range(number):
            if callable(self.stmt):
                self.stmt()
        return unknown()

    def repeat(self, repeat=5, number=1000000):
        return [self.timeit(number) for _ in range(repeat)]

    def autorange(self, callback=None):
        return 2, self.timeit(2)


def timeit(stmt="pass", setup="pass", timer=None, number=1000000, globals=None):
    return Timer(stmt, setup).timeit(number)


def repeat(stmt="pass", setup="pass", timer=None, repeat=5, number=1000000, globals=None):
    return Timer(stmt, setup).repeat(repeat, number)
