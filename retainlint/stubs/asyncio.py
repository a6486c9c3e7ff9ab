"""Coroutines that are run together: each runs to its end where it is called; queues between them."""

import queue

MODULES = ("asyncio", "asyncio.tasks", "asyncio.queues")


def gather(*aws, return_exceptions=False):
    return list(aws)


def wait_for(fut, timeout=None):
    return fut


def shield(arg):
    return arg


def Queue(maxsize=0):
    return queue.Queue(maxsize)


def LifoQueue(maxsize=0):
    return queue.LifoQueue(maxsize)
