"""Processes: what they are given runs where they are started, on copies of its own."""

import copy

MODULES = ("multiprocessing", "multiprocessing.process", "torch.multiprocessing", "torch.multiprocessing.spawn")


class Process:
    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        self.target = target
        self.args = args
        self.kwargs = kwargs or {}

    def run(self):
        if self.target is not None:
            self.target(*copy.deepcopy(self.args), **copy.deepcopy(self.kwargs))

    def start(self):
        self.run()

    def join(self, timeout=None):
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    fn(0, *copy.deepcopy(args))
