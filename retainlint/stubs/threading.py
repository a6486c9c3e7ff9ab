"""Threads: what they are given runs where they are started, with gradients recorded; if it is given a queue that is empty by then, it
runs where somebody waits for it."""

import queue

import torch

MODULES = ("threading",)


def recorded(func, *args, **kwargs):
    with torch.inference_mode(False), torch.enable_grad():  # both are a thread's own
        return func(*args, **kwargs)


class Thread:
    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        self.target = target
        self.args = args
        self.kwargs = kwargs or {}

    def run(self):
        if self.target is not None:
            self.target(*self.args, **self.kwargs)

    def start(self):
        owner = getattr(self.target, "__self__", self)
        given = [*self.args, *self.kwargs.values(), *vars(owner).values()]
        if any(isinstance(each, queue.Queue) and each.empty() for each in given):
            queue.WAITING.append(self.record)
        else:
            queue.begin(self.record)

    def record(self):
        recorded(self.run)

    def join(self, timeout=None):
        queue.proceed()
