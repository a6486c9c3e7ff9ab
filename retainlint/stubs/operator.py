"""Functions that `operator` makes: they ask for attributes, and call methods."""

MODULES = ("operator",)


def _asked(obj, name):
    for part in name.split("."):
        obj = getattr(obj, part)
    return obj


def attrgetter(*names):
    def ask(obj):
        found = [_asked(obj, name) for name in names]
        return found[0] if len(names) == 1 else tuple(found)

    return ask


def methodcaller(name, /, *args, **kwargs):
    def call(obj):
        return getattr(obj, name)(*args, **kwargs)

    return call
