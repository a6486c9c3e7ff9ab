"""What of `functools` is a class of its own: a function that is chosen by the class of its first argument."""

from retainlint.stubs import annotated

MODULES = ("functools",)


class singledispatch:
    def __init__(self, func):
        self.func = func
        self.registry = []

    def register(self, cls, func=None):
        if (kind := annotated(cls)) is not None:
            cls, func = kind, cls
        if func is None:
            return lambda func: self.register(cls, func)
        self.registry.insert(0, (cls, func))
        return func

    def dispatch(self, given):
        for cls, func in self.registry:
            if isinstance(given, cls):
                return func
        return self.func

    def __call__(self, *args, **kwargs):
        return self.dispatch(args[0])(*args, **kwargs)


class singledispatchmethod:
    def __init__(self, func):
        self.dispatcher = singledispatch(func)

    def register(self, cls, method=None):
        return self.dispatcher.register(cls, method)

    def __get__(self, obj, owner=None):
        def method(*args, **kwargs):
            return self.dispatcher.dispatch(args[0])(obj, *args, **kwargs)

        return method
