"""retainlint: a borrow checker for PyTorch's autograd graphs."""

__version__ = "0.1.0"
