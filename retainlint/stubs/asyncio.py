"""Coroutines that are run together: each runs to its end where it is called, and what it fails with is kept for whoever awaits it;
queues between them. What is put behind others for which it has waited, or let others run, was made when nobody knows what they had
done by then."""

import queue
from concurrent.futures import Future
from threading import recorded

from retainlint.stubs import error_in, outcome, settled, unknown

MODULES = ("asyncio", "asyncio.tasks", "asyncio.queues", "asyncio.runners", "asyncio.events")


Task = Future


def create_task(coro, *, name=None, context=None):
    return Task(coro)


def ensure_future(coro_or_future, *, loop=None):
    return coro_or_future


wrap_future = shield = ensure_future


def _caught(awaited):
    error = error_in(awaited)
    return settled(awaited) if error is None else error


def gather(*aws, return_exceptions=False):
    if return_exceptions:
        return [_caught(each) for each in aws]
    try:
        return [settled(each) for each in aws]
    except BaseException:
        for each in aws:
            error_in(each)  # one is raised, and nobody is told of the others
        raise


def wait(aws, *, timeout=None, return_when=None):
    return list(aws), []


def as_completed(aws, *, timeout=None):
    return list(aws)


def wait_for(fut, timeout=None):
    return settled(fut)


def to_thread(func, /, *args, **kwargs):
    return Task(recorded(outcome, func, *args, **kwargs))


def run(main, *, debug=None):
    return settled(main)


class _EventLoop:
    def run_until_complete(self, future):
        return settled(future)

    def create_task(self, coro, *, name=None, context=None):
        return Task(coro)

    def run_in_executor(self, executor, func, *args):
        return to_thread(func, *args)

    def close(self):
        pass


def get_event_loop():
    return _EventLoop()


new_event_loop = get_running_loop = get_event_loop


class _Loop:
    others_ran = False


def sleep(delay, result=None):
    _Loop.others_ran = True
    return result


class Queue(queue.Queue):
    def put(self, item):
        if _Loop.others_ran and not self.queue:
            _Loop.others_ran = False
        self.queue.append(unknown() if _Loop.others_ran and item is not None else item)

    def put_nowait(self, item):
        self.put(item)

    def join(self):
        _Loop.others_ran = True

    def task_done(self):
        pass


class LifoQueue(Queue, queue.LifoQueue):
    pass


class PriorityQueue(Queue, queue.PriorityQueue):
    pass
