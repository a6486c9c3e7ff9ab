"""Runs a witness on the reference core, with nothing at hand but the core's names."""

from __future__ import annotations

import ast
import io
import linecache
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from types import ModuleType
from typing import Any

from retainlint.commands import CommandError, need_core
from retainlint.commands.run import execute
from retainlint.report.terminal import safe_start

NAME = "<witness>"
_MODULES = ("torch", "torch.nn.functional")
_FORMS = (
    ast.Module, ast.Import, ast.alias, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.Expr,
    ast.With, ast.withitem, ast.Call, ast.keyword, ast.Dict, ast.Attribute, ast.Subscript, ast.Name, ast.Constant,
    ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context, ast.GeneratorExp, ast.comprehension,
    ast.Starred, ast.List,
)  # fmt: skip
"""What a witness is written with."""
_ATTRIBUTES = frozenset(
    """nn functional autograd ones float64 no_grad inference_mode requires_grad_ backward grad sum mean expand detach data add_ softmax log_softmax
    linear mse_loss gelu silu softplus leaky_relu exp log sqrt sin cos abs square sigmoid tanh relu clone t reciprocal
    rsqrt log1p expm1 erf linalg norm vector_norm std prod logsumexp amax amin cumprod cdist chunk unbind optim SGD
    Identity register_full_backward_hook""".split()
)
"""What it asks of torch and of tensors. Others may lead elsewhere: from a generator to its frame, and on to all else."""


def replay(script: str) -> int:
    """Run the script of a witness; the exit code Python would give.

    Raises CommandError for a text that is no witness: one with other statements, or that asks for more than witnesses do.
    """
    need_core("running a witness")
    from retainlint.numeric.namespace import installed
    from retainlint.numeric.story import Places, watched

    tree = checked(script)
    linecache.cache[NAME] = (len(script), None, script.splitlines(keepends=True), NAME)  # for the story
    places, said = Places(), io.StringIO()
    try:
        with installed() as torch, watched(places), redirect_stderr(said):
            return execute(compile(tree, NAME, "exec"), surroundings(torch), places)
    finally:
        linecache.cache.pop(NAME, None)
        sys.stderr.write("\n".join(map(safe_start, said.getvalue().split("\n"))))  # an error names what it was given


def checked(script: str) -> ast.Module:
    """The tree of a witness. Raises CommandError if there is anything in it that no witness needs."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CommandError("the witness is no script that Python can read; it isn't run") from error
    if not all(isinstance(node, _FORMS) and _is_harmless(node) for node in ast.walk(tree)):
        raise CommandError("the witness holds what no witness needs; it isn't run")
    return tree


def _is_harmless(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _ATTRIBUTES
    if isinstance(node, ast.alias):
        return node.name in _MODULES
    return not (isinstance(node, ast.Name) and node.id.startswith("_"))


def surroundings(torch: ModuleType) -> dict[str, Any]:
    """The names of a module in which a witness is run."""
    return {"__name__": "__main__", "__builtins__": _builtins(torch)}


def _builtins(torch: ModuleType) -> dict[str, object]:
    """All that a witness needs of Python: a sum, and the import of the core."""

    def given(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = None,
        level: int = 0,
    ) -> ModuleType:
        if name not in _MODULES or fromlist or level:
            raise ImportError(f"a witness imports nothing but torch, and not {name}")
        return torch

    return {"sum": sum, "__import__": given}
