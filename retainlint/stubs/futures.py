"""Pools of threads and processes: what they are given runs as it is handed over, in a thread with gradients recorded; its result, or
what it fails with, is kept for whoever asks."""

import copy

import torch

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
    def shutdown(self, wait=True, cancel_futures=False):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class ThreadPoolExecutor(_Executor):
    def submit(self, fn, /, *args, **kwargs):
        with torch.inference_mode(False), torch.enable_grad():  # both are a thread's own
            return Future(outcome(fn, *args, **kwargs))

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        with torch.inference_mode(False), torch.enable_grad():
            return map(settled, list(map(lambda *each: outcome(fn, *each), *iterables)))


class ProcessPoolExecutor(_Executor):
    def submit(self, fn, /, *args, **kwargs):
        return Future(outcome(fn, *copy.deepcopy(args), **copy.deepcopy(kwargs)))

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        return map(settled, list(map(lambda *each: outcome(fn, *copy.deepcopy(each)), *iterables)))


def as_completed(fs, timeout=None):
    return list(fs)
