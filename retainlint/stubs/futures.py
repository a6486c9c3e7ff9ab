"""Pools of threads and processes: what they are given runs as it is handed over, in a thread with gradients recorded; its result, or
what it fails with, is kept for whoever asks."""

import copy
from threading import recorded

from retainlint.stubs import error_in, outcome, settled

MODULES = ("concurrent.futures", "concurrent.futures.thread", "concurrent.futures.process")


class Future:
    def __init__(self, outcome=None):
        self.outcome = outcome

    def set_result(self, result):
        self.outcome = result

    def result(self, timeout=None):
        return settled(self)

    def exception(self, timeout=None):
        return error_in(self)

    def add_done_callback(self, fn):
        fn(self)


class _Executor:
    def submit(self, fn, /, *args, **kwargs):
        return Future(self.ran(fn, *args, **kwargs))

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        return map(settled, list(map(lambda *each: self.ran(fn, *each), *iterables)))

    def shutdown(self, wait=True, cancel_futures=False):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class ThreadPoolExecutor(_Executor):
    def ran(self, fn, *args, **kwargs):
        return recorded(outcome, fn, *args, **kwargs)


class ProcessPoolExecutor(_Executor):
    def ran(self, fn, *args, **kwargs):
        return outcome(fn, *copy.deepcopy(args), **copy.deepcopy(kwargs))


def as_completed(fs, timeout=None):
    return list(fs)
