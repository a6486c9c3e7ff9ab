"""Which builder makes the fixes of which cure, in one table; cures of one idea share a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from retainlint import diagnostic as cures
from retainlint.diagnostic import Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.cures import (
    backward_calls,
    carried,
    detach,
    expressions,
    no_grad,
    out_of_place,
    recompute,
    refused_calls,
    sum_losses,
    uncut,
)

FixBuilder: TypeAlias = Callable[[EditableCode, Any, cures.Diagnostic], Iterator[Fix]]
"""From a cure to what could be done, in the order in which to try it."""

BUILDERS: Mapping[type, FixBuilder] = MappingProxyType(
    {
        cures.AllowUnused: expressions.allow_unused,
        cures.AsNumber: expressions.as_number,
        cures.AssignDetach: expressions.assign_detach,
        cures.ChangeBehind: backward_calls.change_behind,
        cures.Clear: backward_calls.clear,
        cures.ComputeAnew: recompute.compute_anew,
        cures.ComputeInEach: carried.compute_in_each,
        cures.BeginAnew: carried.begin_anew,
        cures.PutBack: carried.put_back,
        cures.CallResets: carried.call_resets,
        cures.StartAgain: recompute.start_again,
        cures.StraightThrough: uncut.straight_through,
        cures.ComputeOf: refused_calls.compute_of,
        cures.ComputeWhereUsed: recompute.compute_where_used,
        cures.Detach: detach.detach,
        cures.DifferentiateWhole: refused_calls.differentiate_whole,
        cures.DropAssignment: expressions.drop_assignment,
        cures.DropRetain: expressions.drop_retain,
        cures.DropBackward: backward_calls.drop_backward,
        cures.KeepGraph: backward_calls.keep_graph,
        cures.ReadGradients: backward_calls.read_gradients,
        cures.CreateGraph: backward_calls.create_graph,
        cures.GiveLeaf: refused_calls.give_leaf,
        cures.MakeInCall: carried.make_in_call,
        cures.MakeLeaf: expressions.make_leaf,
        cures.MoveInto: recompute.move_into,
        cures.DrawAnew: recompute.draw_anew,
        cures.NotRecorded: no_grad.not_recorded,
        cures.OutOfPlace: out_of_place.out_of_place,
        cures.RecordLater: no_grad.record_later,
        cures.RemoveSuppression: expressions.remove_suppression,
        cures.RemoveVariable: expressions.remove_variable,
        cures.RenameArgument: expressions.rename_argument,
        cures.SumLosses: sum_losses.sum_losses,
        cures.SwapZeroAndStep: backward_calls.swap_zero_and_step,
        cures.Uncache: uncut.uncache,
        cures.Uncut: uncut.uncut,
        cures.UnderNoGrad: no_grad.under_no_grad,
        cures.BackwardAlone: backward_calls.backward_alone,
        cures.BackwardFirst: backward_calls.backward_first,
        cures.ZeroFirst: backward_calls.zero_first,
    }
)
