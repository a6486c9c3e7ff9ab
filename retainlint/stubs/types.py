"""What of `types` shows something else: a dict that nobody may change."""

MODULES = ("types",)


def MappingProxyType(mapping):
    return mapping
