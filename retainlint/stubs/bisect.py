"""Lists that are kept sorted."""

MODULES = ("bisect", "_bisect")


def insort_right(a, x, lo=0, hi=None, *, key=None):
    a.append(x)
    a.sort(key=key)


insort = insort_left = insort_right
