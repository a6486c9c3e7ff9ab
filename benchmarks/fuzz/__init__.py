"""Texts that try to break the linter: made from seeds, checked in a process that is watched, shrunk where one does."""
