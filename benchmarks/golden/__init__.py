"""A record of all that the linter says of a fixed choice of programs, and the comparison of two such records."""
