"""Processes: what they are given runs where they are started, on copies of its own."""

import copy
import threading

MODULES = ("multiprocessing", "multiprocessing.process", "torch.multiprocessing", "torch.multiprocessing.spawn")


class Process(threading.Thread):
    def run(self):
        if self.target is not None:
            self.target(*copy.deepcopy(self.args), **copy.deepcopy(self.kwargs))


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    fn(0, *copy.deepcopy(args))
