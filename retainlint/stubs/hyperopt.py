"""Hyperopt: a search calls its objective for one point after the other."""

from retainlint.stubs import unknown

MODULES = ("hyperopt", "hyperopt.fmin")


def fmin(fn, space=None, algo=None, max_evals=None, timeout=None, **options):
    for _ in range(unknown()) if max_evals is None else range(max_evals):
        fn()
