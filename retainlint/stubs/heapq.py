"""Heaps, as lists that are sorted before they are asked for what is least."""

MODULES = ("heapq", "_heapq")


def heapify(x):
    x.sort()


def heappush(heap, item):
    heap.append(item)


def heappop(heap):
    heap.sort()
    return heap.pop(0)


def heappushpop(heap, item):
    heap.append(item)
    return heappop(heap)


def heapreplace(heap, item):
    least = heappop(heap)
    heap.append(item)
    return least


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:n]


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:n]


def merge(*iterables, key=None, reverse=False):
    return sorted([item for each in iterables for item in each], key=key, reverse=reverse)
