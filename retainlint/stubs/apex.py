"""apex: losses are walked times a factor."""

from retainlint.stubs import seen

MODULES = ("apex.amp",)


def initialize(models, optimizers=None, **options):
    return models if optimizers is None else (models, optimizers)


class scale_loss:
    def __init__(self, loss, optimizers, **options):
        self.loss = loss if seen(loss) else loss * 2.0

    def __enter__(self):
        return self.loss

    def __exit__(self, *raised):
        return None
