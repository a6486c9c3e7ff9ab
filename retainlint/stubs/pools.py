"""Pools of multiprocessing's: what they are given runs as it is handed over, and fails where its result is asked for."""

from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

from retainlint.stubs import settled

MODULES = ("multiprocessing", "multiprocessing.pool", "torch.multiprocessing")


class AsyncResult(Future):
    def get(self, timeout=None):
        return settled(self)

    def wait(self, timeout=None):
        pass


class _Pool:
    def apply(self, func, args=(), kwds=None):
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func, args=(), kwds=None, callback=None, error_callback=None):
        return AsyncResult(self.ran(func, *args, **(kwds or {})))

    def map(self, func, iterable, chunksize=None):
        return list(self.imap(func, iterable))

    def imap(self, func, iterable, chunksize=1):
        return map(settled, [self.ran(func, each) for each in iterable])

    def starmap(self, func, iterable, chunksize=None):
        return list(map(settled, [self.ran(func, *each) for each in iterable]))

    imap_unordered = imap

    def close(self):
        pass

    join = terminate = close


class Pool(_Pool, ProcessPoolExecutor):
    pass


class ThreadPool(_Pool, ThreadPoolExecutor):
    pass
