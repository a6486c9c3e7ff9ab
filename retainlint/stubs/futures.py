"""Pools of threads: what they are given runs as it is handed over, and its result is kept."""

MODULES = ("concurrent.futures", "concurrent.futures.thread")


class Future:
    def __init__(self, value):
        self.value = value

    def result(self, timeout=None):
        return self.value

    def add_done_callback(self, fn):
        fn(self)


class ThreadPoolExecutor:
    def submit(self, fn, /, *args, **kwargs):
        return Future(fn(*args, **kwargs))

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        return list(map(fn, *iterables))

    def shutdown(self, wait=True, cancel_futures=False):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def as_completed(fs, timeout=None):
    return list(fs)
