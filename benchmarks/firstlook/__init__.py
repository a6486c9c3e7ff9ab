"""How right the linter is on repositories that nobody of the project has looked at."""
