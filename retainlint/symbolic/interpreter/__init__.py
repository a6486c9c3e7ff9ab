"""Runs the instructions of a program on a set of states."""
