"""Accelerate hands back what it prepares, and walks losses."""

import contextlib

MODULES = ("accelerate", "accelerate.accelerator")


class Accelerator:
    def prepare(self, *given, **options):
        return given[0] if len(given) == 1 else given

    prepare_model = unwrap_model = prepare

    def backward(self, loss, **options):
        loss.backward(**options)

    def reduce(self, tensor, *args, **options):
        return tensor.clone()

    def accumulate(self, *models):
        return contextlib.nullcontext()

    autocast = accumulate
