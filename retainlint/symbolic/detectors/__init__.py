"""What is told of what the machine did: graphs reused, changed, kept, and calls that don't do what they seem to."""

from __future__ import annotations

from retainlint.symbolic.detectors import api_misuse, gradient_order, kept_graphs, retained_graphs, reuse
from retainlint.symbolic.detectors.claims import Claims
from retainlint.symbolic.state import events
from retainlint.symbolic.state.protocol import Machine


class Detectors(events.Events):
    """All detectors, listening to one machine; what they remember lies in their claims."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        claims = self.claims = Claims(machine.graphs, machine.opened)
        on = self.subscribe
        on(events.Reused, lambda e: reuse.freed(machine, e.state, e.node, e.first, e.second))
        on(events.SavedModified, lambda e: reuse.modified(machine, e.state, e.node, e.saved, e.record))
        on(events.WithoutGraph, lambda e: reuse.without_graph(machine, e))
        on(events.LeafModified, lambda e: reuse.leaf_modified(machine, e))
        on(events.ViewModified, lambda e: reuse.view_modified(machine, e))
        on(events.InferenceUsed, lambda e: reuse.inference_used(machine, e))
        on(events.CallRefused, lambda e: reuse.refused(machine, e.state, e.incident))
        on(
            events.Backward,
            lambda e: retained_graphs.backpropagated(claims, e.state, e.record, e.flags, failed=e.failed),
        )
        on(events.Backward, lambda e: None if e.failed else claims.survive(e.state, e.record))
        on(events.BackwardCalled, lambda e: api_misuse.arguments(claims, e))
        on(events.BackwardCalled, lambda e: api_misuse.result(claims, e))
        on(events.Detached, lambda e: api_misuse.detached(claims, e.state, e.tensor, e.span))
        on(events.VariableMade, lambda e: api_misuse.variable(claims, e))
        on(events.Step, lambda e: gradient_order.stepped(claims, e.state, e.event))
        on(events.GradientsCleared, lambda _: claims.clear())
        on(events.OpaqueCall, lambda _: claims.call_unseen())
        on(events.Added, lambda e: kept_graphs.added(claims, e.state, e.total, e.span, e.places))
        on(events.Stored, lambda e: kept_graphs.stored(claims, e.state, e.holder, e.value, e.span, e.item))
        on(
            events.ItemSet,
            lambda e: kept_graphs.put(
                claims, e.state, e.container, e.held, e.value, e.span, None, e.text, is_new=e.is_new
            ),
        )
        on(events.Joined, lambda e: kept_graphs.joined(claims, e.state, e.left, e.right, e.made, e.places, e.span))
        on(events.ModuleCalled, lambda e: kept_graphs.called(claims, e.state, e.value, e.span))
        on(events.ContainerShrunk, lambda e: claims.shrunk.add(e.container))
        on(events.Escaped, lambda e: claims.give(e.edges))
        on(events.NotFollowed, lambda _: claims.spoil())
        on(events.CalleeSkipped, lambda e: claims.leave_unseen(e.name, e.edges))
        on(events.PathsDropped, lambda e: claims.prune(e.whole))
        on(events.ArmTaken, lambda e: claims.arms.take(e.instr, e.arm))
        on(events.EntryBegun, lambda _: claims.begin())
        on(events.EntryEnded, lambda e: claims.leave(e.results, *e.holders))
        on(events.ModulePartBegun, lambda _: claims.mark())
        on(events.ModulePartEnded, lambda _: claims.forget_since_mark())


def claims_of(machine: Machine) -> Claims:
    """What the detectors that listen to a machine have claimed."""
    assert isinstance(machine.events, Detectors)
    return machine.events.claims
