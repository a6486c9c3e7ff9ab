"""One small file a cure; here is the one table that says which builds the fixes of which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from retainlint import diagnostic as told
from retainlint.fixes.code import Code
from retainlint.fixes.cures.arguments import drop_retain, rename_argument
from retainlint.fixes.cures.assignments import assign_detach, drop_assignment, remove_variable
from retainlint.fixes.cures.backward_first import backward_first
from retainlint.fixes.cures.clear import clear
from retainlint.fixes.cures.compute_anew import compute_anew
from retainlint.fixes.cures.compute_where_used import compute_where_used
from retainlint.fixes.cures.detach import detach
from retainlint.fixes.cures.drop_backward import drop_backward
from retainlint.fixes.cures.keep_graph import keep_graph
from retainlint.fixes.cures.move_into import move_into
from retainlint.fixes.cures.numbers import as_number
from retainlint.fixes.cures.out_of_place import out_of_place
from retainlint.fixes.cures.sum_losses import sum_losses
from retainlint.fixes.cures.suppressions import remove_suppression
from retainlint.fixes.cures.uncut import uncut
from retainlint.fixes.cures.under_no_grad import under_no_grad
from retainlint.fixes.cures.zeroing import swap_zero_and_step, zero_first
from retainlint.fixes.edits import Fix

Builder: TypeAlias = Callable[[Code, Any, told.Diagnostic], Iterator[Fix]]
"""From a cure to what could be done, in the order in which to try it."""

BUILDERS: Mapping[type, Builder] = MappingProxyType(
    {
        told.AsNumber: as_number,
        told.AssignDetach: assign_detach,
        told.Clear: clear,
        told.ComputeAnew: compute_anew,
        told.ComputeWhereUsed: compute_where_used,
        told.Detach: detach,
        told.DropAssignment: drop_assignment,
        told.DropRetain: drop_retain,
        told.DropBackward: drop_backward,
        told.KeepGraph: keep_graph,
        told.MoveInto: move_into,
        told.OutOfPlace: out_of_place,
        told.RemoveSuppression: remove_suppression,
        told.RemoveVariable: remove_variable,
        told.RenameArgument: rename_argument,
        told.SumLosses: sum_losses,
        told.SwapZeroAndStep: swap_zero_and_step,
        told.Uncut: uncut,
        told.UnderNoGrad: under_no_grad,
        told.BackwardFirst: backward_first,
        told.ZeroFirst: zero_first,
    }
)
