"""Threads: what they are given runs where they are started, with gradients recorded."""

import torch

MODULES = ("threading",)


class Thread:
    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        self.target = target
        self.args = args
        self.kwargs = kwargs or {}

    def run(self):
        if self.target is not None:
            self.target(*self.args, **self.kwargs)

    def start(self):
        with torch.inference_mode(False), torch.enable_grad():  # both are a thread's own
            self.run()

    def join(self, timeout=None):
        pass
