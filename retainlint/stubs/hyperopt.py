"""Hyperopt: a search calls its objective for one point after the other."""

MODULES = ("hyperopt", "hyperopt.fmin")


def fmin(fn, space=None, algo=None, max_evals=None, timeout=None, **options):
    for _ in _evaluations() if max_evals is None else range(max_evals):
        fn()


def _evaluations(number):
    """Called without a number, as many as nobody knows."""
    return range(number)
