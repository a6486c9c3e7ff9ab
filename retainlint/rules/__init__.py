"""Incident to diagnostic: which rule explains an incident, and the rules by code and by name."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic
from retainlint.incident import Incident
from retainlint.rules.rtl101_backward_in_loop import BackwardInLoop
from retainlint.rules.rtl102_backward_twice import BackwardTwice
from retainlint.rules.rtl103_shared_graph_losses import SharedGraphLosses
from retainlint.rules.rtl104_carried_graph import CarriedGraph
from retainlint.rules.rtl105_closure_reuses_graph import ClosureReusesGraph
from retainlint.rules.rtl106_graph_built_in_init import GraphBuiltInInit
from retainlint.rules.rtl107_missing_detach import MissingDetach
from retainlint.rules.rtl110_step_before_backward import StepBeforeBackward
from retainlint.rules.rtl111_saved_tensor_modified import SavedTensorModified
from retainlint.rules.rtl112_backward_without_graph import BackwardWithoutGraph
from retainlint.rules.rtl113_leaf_modified_in_place import LeafModifiedInPlace
from retainlint.rules.rtl114_gradient_of_unused_tensor import GradientOfUnusedTensor
from retainlint.rules.rtl115_optimised_computed_tensor import OptimisedComputedTensor
from retainlint.rules.rtl116_view_of_several_modified import ViewOfSeveralModified
from retainlint.rules.rtl117_inference_tensor_used import InferenceTensorUsed
from retainlint.rules.rtl201_needless_retain_graph import NeedlessRetainGraph
from retainlint.rules.rtl202_growing_graph import GrowingGraph
from retainlint.rules.rtl203_accumulated_graph import AccumulatedGraph
from retainlint.rules.rtl204_stored_graph import StoredGraph
from retainlint.rules.rtl205_create_graph_backward import CreateGraphBackward
from retainlint.rules.rtl206_graph_never_used import GraphNeverBackpropagated
from retainlint.rules.rtl301_backward_result_used import BackwardResultUsed
from retainlint.rules.rtl302_unknown_backward_argument import UnknownBackwardArgument
from retainlint.rules.rtl303_gradients_never_zeroed import GradientsNeverZeroed
from retainlint.rules.rtl304_gradients_zeroed_before_step import GradientsZeroedBeforeStep
from retainlint.rules.rtl305_discarded_detach import DiscardedDetach
from retainlint.rules.rtl306_deprecated_variable import DeprecatedVariable
from retainlint.rules.rtl900_file_not_checked import FileNotChecked
from retainlint.rules.rtl901_unused_suppression import UnusedSuppression
from retainlint.rules.rule import Example, Rule
from retainlint.rules.wording import place
from retainlint.startup.records import replace

__all__ = ["RULES", "Example", "Rule", "diagnose", "rule"]

_FIRST_THAT_HOLDS: tuple[Rule, ...] = (
    ClosureReusesGraph(),
    GraphBuiltInInit(),
    CarriedGraph(),
    BackwardInLoop(),
    BackwardTwice(),
    MissingDetach(),
    SharedGraphLosses(),
    StepBeforeBackward(),
    SavedTensorModified(),
    BackwardWithoutGraph(),
    LeafModifiedInPlace(),
    GradientOfUnusedTensor(),
    OptimisedComputedTensor(),
    ViewOfSeveralModified(),
    InferenceTensorUsed(),
    NeedlessRetainGraph(),
    GrowingGraph(),
    AccumulatedGraph(),
    StoredGraph(),
    CreateGraphBackward(),
    GraphNeverBackpropagated(),
    BackwardResultUsed(),
    UnknownBackwardArgument(),
    GradientsNeverZeroed(),
    GradientsZeroedBeforeStep(),
    DiscardedDetach(),
    DeprecatedVariable(),
)
"""The one table that decides: an incident is explained by the first rule here that matches it."""

RULES: tuple[Rule, ...] = tuple(
    sorted((*_FIRST_THAT_HOLDS, FileNotChecked(), UnusedSuppression()), key=lambda rule: rule.code)
)
"""Every rule, by code."""


def rule(code_or_name: str) -> Rule | None:
    """The rule with this code (`RTL101`, in any case) or name (`backward-in-loop`)."""
    wanted = code_or_name.strip()
    return next((rule for rule in RULES if wanted.upper() == rule.code or wanted.lower() == rule.name), None)


def diagnose(incident: Incident) -> Diagnostic:
    """Explain an incident by the one rule that fits it best."""
    explained = next(rule for rule in _FIRST_THAT_HOLDS if rule.matches(incident)).explain(incident)
    notes = explained.notes
    if incident.first is not None:
        before = place(incident.first, explained.primary.span.source)
        notes += (f"note: {before} raises first: this fails once that is mended",)
    return replace(explained, alone=incident.alone, notes=notes, waits=incident.first)
