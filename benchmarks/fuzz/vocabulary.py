"""The words of random programs: names that mean something to the linter, and constants that are awkward."""

from __future__ import annotations

PRELUDE = """\
import torch
from torch import nn, optim
import torch.nn.functional as F
net = nn.Linear(2, 2)
opt = optim.SGD(net.parameters(), 0.1)
x = torch.ones(2, requires_grad=True)
y = torch.ones(2)
loss = (net(x) * x).sum()
losses, items, f = [], {}, lambda *a, **k: net(*a)
"""

NAMES = (
    "x", "y", "loss", "losses", "net", "opt", "torch", "nn", "F", "optim", "items", "f", "self", "range", "len", "sum", "zip", "enumerate",
    "map", "list", "dict", "tuple", "set", "sorted", "reversed", "min", "max", "int", "float", "str", "bool", "type", "super", "print",
    "isinstance", "getattr", "setattr", "hasattr", "next", "iter", "any", "all", "abs", "round", "pow", "divmod", "open", "eval", "exec",
    "Exception", "RuntimeError", "__name__", "_", "slice", "object", "property", "staticmethod", "classmethod", "vars", "globals", "id",
    "hash", "format", "chr", "ord", "bytes", "complex", "filter", "callable", "input", "frozenset", "NotImplemented", "é",
)  # fmt: skip

ATTRIBUTES = (
    "backward", "grad", "step", "zero_grad", "detach", "requires_grad", "requires_grad_", "data", "item", "sum", "mean", "mul_", "add_",
    "retain_graph", "create_graph", "inputs", "autograd", "functional", "no_grad", "enable_grad", "set_grad_enabled", "parameters", "modules", "state_dict",
    "load_state_dict", "forward", "train", "eval", "to", "cuda", "cpu", "clone", "copy_", "shape", "size", "view", "reshape", "t", "T", "mm", "matmul",
    "cat", "stack", "split", "chunk", "append", "extend", "pop", "items", "keys", "values", "get", "update", "join", "format", "splitlines", "Linear",
    "Module", "Sequential", "LSTM", "MSELoss", "ones", "zeros", "randn", "tensor", "Adam", "SGD", "param_groups", "register_hook", "checkpoint", "__class__", "__dict__",
    "__call__", "__init__", "__getattr__", "fit", "run", "close", "expand", "unbind", "index_add", "lcm", "tolist", "numpy", "dim", "out", "weight", "bias",
)  # fmt: skip

CONSTANTS = (
    0, 1, 2, 3, 7, 10**6, 10**18, 2**63, 10**40, 0.0, 0.5, 1e308, 1e-320, float("inf"), 1j, True, False, None, ...,
    "", "a", "backward", "loss", "{}", "%s", "%*d", "{:>9999}", "\0", "\ud800", "\u202e", "é", b"", b"a", b"\xff", "x" * 300,
)  # fmt: skip
