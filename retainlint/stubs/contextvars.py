"""Variables of a context: one value, which is set and asked for."""

MODULES = ("contextvars",)


class ContextVar:
    def __init__(self, name, *, default=None):
        self.value = default

    def get(self, default=None):
        return default if self.value is None else self.value

    def set(self, value):
        before, self.value = self.value, value
        return before

    def reset(self, token):
        self.value = token
