"""Pools of threads: what they are given runs as it is handed over, with gradients recorded, and its result is kept."""

import torch

MODULES = ("concurrent.futures", "concurrent.futures.thread")


class Future:
    def __init__(self, value=None):
        self.value = value

    def set_result(self, result):
        self.value = result

    def result(self, timeout=None):
        return self.value

    def add_done_callback(self, fn):
        fn(self)


class ThreadPoolExecutor:
    def submit(self, fn, /, *args, **kwargs):
        with torch.inference_mode(False), torch.enable_grad():  # both are a thread's own
            return Future(fn(*args, **kwargs))

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        with torch.inference_mode(False), torch.enable_grad():
            return list(map(fn, *iterables))

    def shutdown(self, wait=True, cancel_futures=False):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def as_completed(fs, timeout=None):
    return list(fs)
