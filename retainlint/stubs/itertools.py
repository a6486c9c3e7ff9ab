"""What of `itertools` needs no iterator of its own."""

MODULES = ("itertools",)


def pairwise(iterable):
    items = list(iterable)
    return zip(items, items[1:])
