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

    def __call__(self, *args, **kwargs):
        for cls, func in self.registry:
            if isinstance(args[0], cls):
                return func(*args, **kwargs)
        return self.func(*args, **kwargs)


class singledispatchmethod:
    def __init__(self, func):
        self.dispatcher = singledispatch(func)

    def register(self, cls, method=None):
        return self.dispatcher.register(cls, method)

    def __get__(self, obj, owner=None):
        def method(*args, **kwargs):
            for cls, func in self.dispatcher.registry:
                if isinstance(args[0], cls):
                    return func(obj, *args, **kwargs)
            return self.dispatcher.func(obj, *args, **kwargs)

        return method
