"""click's runner for tests: what a command fails with is kept in its result, and nobody is told who asks for it."""

from retainlint.stubs import error_in, outcome, settled

MODULES = ("click.testing", "typer.testing")


class CliRunner:
    def invoke(self, cli, args=None, input=None, env=None, catch_exceptions=True, color=False, **extra):
        ran = outcome(cli)
        if not catch_exceptions:
            settled(ran)
        return Result(ran)


class Result:
    def __init__(self, outcome):
        self.outcome = outcome

    @property
    def exception(self):
        return error_in(self)
