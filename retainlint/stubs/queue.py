"""Queues, as lists. Who waits for what another thread puts there, or takes from there, has it run first."""

MODULES = ("queue", "multiprocessing.queues")

WAITING = []
"""What threads run that were started before there was anything for them to do."""

RUNNING = []
"""What runs in a thread now."""


class Empty(Exception):
    pass


class Blocked(BaseException):
    """A thread has nothing more to do until somebody puts it there: it goes on no further."""


def proceed():
    while WAITING:
        begin(WAITING.pop(0))


def begin(run):
    RUNNING.append(run)
    try:
        run()
    except Blocked:
        pass
    finally:
        RUNNING.pop()


class Queue:
    def __init__(self, maxsize=0):
        self.queue = []

    def put(self, item, block=True, timeout=None):
        self.queue.append(item)

    def put_nowait(self, item):
        self.queue.append(item)

    def get(self, block=True, timeout=None):
        if len(self.queue) == 0:
            proceed()
        if len(self.queue) == 0 and RUNNING:
            if block and timeout is None:
                raise Blocked
            raise Empty
        return self.take()

    def take(self):
        return self.queue.pop(0)

    def get_nowait(self):
        return self.get(False)

    def empty(self):
        return len(self.queue) == 0

    def qsize(self):
        return len(self.queue)

    def join(self):
        proceed()

    def task_done(self):
        pass


SimpleQueue = Queue


class LifoQueue(Queue):
    def take(self):
        return self.queue.pop()


class PriorityQueue(Queue):
    def take(self):
        self.queue.sort()
        return self.queue.pop(0)
