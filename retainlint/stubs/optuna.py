"""Optuna: a study calls its objective for one trial after the other, and goes on behind the errors that it is told to catch."""

from retainlint.stubs import unknown

MODULES = ("optuna", "optuna.study", "optuna.study.study", "optuna.exceptions")


class TrialPruned(Exception):
    pass


class Study:
    def optimize(self, func, n_trials=None, timeout=None, n_jobs=1, catch=(), callbacks=None, **options):
        for _ in range(unknown()) if n_trials is None else range(n_trials):
            self.run_trial(func, catch)

    def run_trial(self, func, catch):
        if catch:
            try:
                func()
            except TrialPruned:
                return
            except catch:
                return
        else:
            try:
                func()
            except TrialPruned:
                return


def create_study(**options):
    return Study()


load_study = create_study
