"""Coroutines that are run together: each runs to its end where it is called; queues between them. What is put behind others for
which it has waited, or let others run, was made when nobody knows what they had done by then."""

import queue

MODULES = ("asyncio", "asyncio.tasks", "asyncio.queues")


def gather(*aws, return_exceptions=False):
    return list(aws)


def wait_for(fut, timeout=None):
    return fut


def shield(arg):
    return arg


class _Loop:
    others_ran = False


def _another(item):
    """Called without an item, it gives what nobody knows."""
    return item


def sleep(delay, result=None):
    _Loop.others_ran = True
    return result


class Queue(queue.Queue):
    def put(self, item):
        if _Loop.others_ran and not self.queue:
            _Loop.others_ran = False
        self.queue.append(_another() if _Loop.others_ran and item is not None else item)

    def put_nowait(self, item):
        self.put(item)

    def join(self):
        _Loop.others_ran = True

    def task_done(self):
        pass


class LifoQueue(Queue):
    def get(self):
        return self.queue.pop()


class PriorityQueue(Queue):
    def get(self):
        self.queue.sort()
        return self.queue.pop(0)
