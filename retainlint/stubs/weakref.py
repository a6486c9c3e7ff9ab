"""References that keep nothing alive: what they lead to is there as long as a name, or what one leads to, holds it."""

from retainlint.stubs import held, held_weakly

MODULES = ("weakref",)


class ref:
    def __init__(self, object, callback=None):
        self.object = held_weakly(object)

    def __call__(self):
        return self.object if held(self.object) else None


class WeakMethod(ref):
    pass


def proxy(object, callback=None):
    return object


WeakKeyDictionary = dict


class WeakValueDictionary:
    def __init__(self, other=()):
        self.data = held_weakly(dict(other))

    def __contains__(self, key):
        return key in self.data and held(self.data[key])

    def get(self, key, default=None):
        return self.data[key] if key in self else default

    def __getitem__(self, key):
        if key in self:
            return self.data[key]
        raise KeyError(key)

    def __setitem__(self, key, value):
        self.data[key] = value

    def __delitem__(self, key):
        del self.data[key]

    def pop(self, key, default=None):
        value = self.get(key, default)
        self.data.pop(key, None)
        return value

    def setdefault(self, key, default=None):
        if key not in self:
            self.data[key] = default
        return self.data[key]

    def items(self):
        return [(key, self.data[key]) for key in self.data if held(self.data[key])]

    def keys(self):
        return [key for key in self.data if held(self.data[key])]

    def values(self):
        return [self.data[key] for key in self.data if held(self.data[key])]

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def clear(self):
        self.data.clear()


class WeakSet:
    def __init__(self, data=()):
        self.data = held_weakly(list(data))

    def add(self, item):
        if item not in self:
            self.data.append(item)

    def discard(self, item):
        self.data = [each for each in self.data if each is not item]

    remove = discard

    def __contains__(self, item):
        return any(each is item for each in self.data)

    def __iter__(self):
        return iter([self.data[i] for i in range(len(self.data)) if held(self.data[i])])

    def __len__(self):
        return len([i for i in range(len(self.data)) if held(self.data[i])])
