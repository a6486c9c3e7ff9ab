"""A second generator: whole small programs and projects, with state that methods hand to each other."""
