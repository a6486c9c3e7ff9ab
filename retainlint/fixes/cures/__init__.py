"""Which builder makes the fixes of which cure, in one table; cures of one idea share a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from retainlint import diagnostic as cures
from retainlint.diagnostic import Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.cures.backward_calls import (
    backward_first,
    clear,
    create_graph,
    drop_backward,
    keep_graph,
    swap_zero_and_step,
    zero_first,
)
from retainlint.fixes.cures.detach import detach
from retainlint.fixes.cures.expressions import (
    as_number,
    assign_detach,
    drop_assignment,
    drop_retain,
    remove_suppression,
    remove_variable,
    rename_argument,
)
from retainlint.fixes.cures.no_grad import uncut, under_no_grad
from retainlint.fixes.cures.out_of_place import out_of_place
from retainlint.fixes.cures.recompute import compute_anew, compute_where_used, move_into
from retainlint.fixes.cures.sum_losses import sum_losses

FixBuilder: TypeAlias = Callable[[EditableCode, Any, cures.Diagnostic], Iterator[Fix]]
"""From a cure to what could be done, in the order in which to try it."""

BUILDERS: Mapping[type, FixBuilder] = MappingProxyType(
    {
        cures.AsNumber: as_number,
        cures.AssignDetach: assign_detach,
        cures.Clear: clear,
        cures.ComputeAnew: compute_anew,
        cures.ComputeWhereUsed: compute_where_used,
        cures.Detach: detach,
        cures.DropAssignment: drop_assignment,
        cures.DropRetain: drop_retain,
        cures.DropBackward: drop_backward,
        cures.KeepGraph: keep_graph,
        cures.CreateGraph: create_graph,
        cures.MoveInto: move_into,
        cures.OutOfPlace: out_of_place,
        cures.RemoveSuppression: remove_suppression,
        cures.RemoveVariable: remove_variable,
        cures.RenameArgument: rename_argument,
        cures.SumLosses: sum_losses,
        cures.SwapZeroAndStep: swap_zero_and_step,
        cures.Uncut: uncut,
        cures.UnderNoGrad: under_no_grad,
        cures.BackwardFirst: backward_first,
        cures.ZeroFirst: zero_first,
    }
)
