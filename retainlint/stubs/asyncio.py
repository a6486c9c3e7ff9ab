"""Coroutines that are run together: each runs to its end where it is called."""

MODULES = ("asyncio", "asyncio.tasks")


def gather(*aws, return_exceptions=False):
    return list(aws)


def wait_for(fut, timeout=None):
    return fut


def shield(arg):
    return arg
