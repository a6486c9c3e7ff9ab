"""What Python's builtins and standard library do to values."""
