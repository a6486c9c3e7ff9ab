"""What of `contextlib` lets an exception go by, and contexts that functions are put under."""

MODULES = ("contextlib",)


class suppress:
    def __init__(self, *exceptions):
        self.exceptions = exceptions

    def __enter__(self):
        pass

    def __exit__(self, kind, value, trace):
        return kind is not None and issubclass(kind, self.exceptions)


class ContextDecorator:
    def __call__(self, func):
        return inside(lambda: self, func)


def inside(make, func):
    """`@guard()`: a function that runs in a context, which is made anew for each call of it."""

    def run(*args, **kwargs):
        with make():
            return func(*args, **kwargs)

    return run
