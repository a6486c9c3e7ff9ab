"""The pipeline and what runs it: one text, many files, other processes and machines."""
