"""When two states are one, and what is forgotten where paths join."""
