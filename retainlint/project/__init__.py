"""A project as files and names: which are asked for, where imports lead, and who calls whom."""
