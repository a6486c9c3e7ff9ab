"""Queues, as lists: nobody waits for what another puts there."""

MODULES = ("queue", "multiprocessing.queues")


class Queue:
    def __init__(self, maxsize=0):
        self.queue = []

    def put(self, item, block=True, timeout=None):
        self.queue.append(item)

    def put_nowait(self, item):
        self.queue.append(item)

    def get(self, block=True, timeout=None):
        return self.queue.pop(0)

    def get_nowait(self):
        return self.get()

    def empty(self):
        return len(self.queue) == 0

    def qsize(self):
        return len(self.queue)


SimpleQueue = Queue


class LifoQueue(Queue):
    def get(self, block=True, timeout=None):
        return self.queue.pop()


class PriorityQueue(Queue):
    def get(self, block=True, timeout=None):
        self.queue.sort()
        return self.queue.pop(0)
