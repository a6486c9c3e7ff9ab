"""How long the linter takes, beside other linters and beside what can't be avoided: `python -m benchmarks.speed`."""
