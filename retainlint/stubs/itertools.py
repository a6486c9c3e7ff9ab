"""What of `itertools` needs no iterator of its own."""

from retainlint.stubs import computes, cycled

MODULES = ("itertools",)


def cycle(iterable):
    return _kept(iterable) if computes(iterable) else cycled(iterable)


def _kept(iterable):
    saved = []
    for item in iterable:
        yield item
        saved.append(item)
    while saved:
        for item in saved:
            yield item


def pairwise(iterable):
    items = list(iterable)
    return zip(items, items[1:])


def takewhile(predicate, iterable):
    for item in iterable:
        if not predicate(item):
            break
        yield item


def dropwhile(predicate, iterable):
    dropping = True
    for item in iterable:
        dropping = dropping and predicate(item)
        if not dropping:
            yield item


def filterfalse(predicate, iterable):
    return [item for item in iterable if not predicate(item)]


def compress(data, selectors):
    return [item for item, selected in zip(data, selectors) if selected]


def groupby(iterable, key=None):
    groups = []
    for item in iterable:
        asked = item if key is None else key(item)
        if groups and groups[-1][0] == asked:
            groups[-1][1].append(item)
        else:
            groups.append((asked, [item]))
    return groups


def tee(iterable, n=2):
    items = list(iterable)
    return [items for _ in range(n)]
