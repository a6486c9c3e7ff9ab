"""The table of rules: every incident has one explanation, every rule a code, a name and a page."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from rules.incident_cases import CASES
from rules.incidents_by_hand import Program

from retainlint import check_source
from retainlint.diagnostic import Severity
from retainlint.incident import Freed, Witness
from retainlint.rules import RULES, Example, Rule, diagnose, rule

FREED = [name for name, make in CASES.items() if isinstance(make(), Freed)]


def freed(name: str) -> Freed:
    incident = CASES[name]()
    assert isinstance(incident, Freed)
    return incident


def test_rules_are_found_by_code_and_by_name() -> None:
    for each in RULES:
        assert rule(each.code) is rule(each.code.lower()) is rule(each.name) is each
    assert rule("RTL999") is rule("") is None


def test_codes_are_in_order_and_names_differ() -> None:
    codes = [each.code for each in RULES]
    assert codes == sorted(set(codes))
    assert len({each.name for each in RULES}) == len(RULES)


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.code)
def test_rule_has_a_page(each: Rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", each.name)
    assert each.summary.endswith(".")
    assert "\n" not in each.summary
    assert each.explanation.startswith(each.summary + "\n\n")
    assert each.explanation.count("`") % 2 == 0


@pytest.mark.parametrize("name", CASES)
def test_diagnostic_is_whole(name: str) -> None:
    incident = CASES[name]()
    diagnostic = diagnose(incident)
    assert [label.span for label in diagnostic.labels if label.primary] == [incident.primary]
    assert diagnostic.help
    texts = [diagnostic.message, diagnostic.help, *diagnostic.notes, *(label.text for label in diagnostic.labels)]
    for text in texts:
        assert text.isprintable()
        assert text.count("`") % 2 == 0
        assert "``" not in text
    assert len(diagnostic.message) <= 200


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("weight derived in init", {"in_closure": True, "foreign": True, "same_root": True}, "RTL105"),
        ("weight derived in init", {"foreign": True, "same_root": True}, "RTL106"),
        ("hidden state", {"foreign": True, "same_root": True}, "RTL104"),
        ("product above the loop", {"foreign": True, "same_root": True}, "RTL101"),
    ],
)
def test_table_decides_between_rules_that_all_hold(name: str, change: dict[str, bool], code: str) -> None:
    assert diagnose(replace(freed(name), **change)).code == code  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"foreign": True, "same_root": True}, "RTL102"),
        ({"foreign": True}, "RTL107"),
        ({}, "RTL103"),
    ],
)
def test_table_decides_within_one_turn(change: dict[str, bool], code: str) -> None:
    incident = replace(freed("two heads on a trunk in forward"), **change)  # type: ignore[arg-type]
    assert diagnose(incident).code == code


NESTED = """
    w = start()
    for a in A:
        h = f(w)
        for b in B:
            g(h).backward()
    """


@pytest.mark.parametrize(
    ("built", "freed", "reused", "code"),
    [
        ((), (1, 1), (1, 2), "RTL101"),
        ((1,), (1, 1), (1, 2), "RTL101"),  # built in this turn of the outer loop, before the inner one
        ((1, 1), (1, 1), (1, 2), "RTL104"),
        ((), (1, 3), (2, 1), "RTL101"),  # the inner numbers mean nothing across turns of the outer loop
        ((1,), (1, 3), (2, 1), "RTL104"),
        ((1, 2), (1, 2), (1, 2), "RTL103"),  # one and the same turn
        ((2, 1), (2, 1), (1, 1), "RTL103"),  # the loop was entered anew
    ],
)
def test_turns_of_nested_loops(
    built: tuple[int, ...], freed: tuple[int, ...], reused: tuple[int, ...], code: str
) -> None:
    p = Program(NESTED)

    def iterations(numbers: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
        return tuple(zip(("for a in A", "for b in B"), numbers, strict=False))

    backward_passes = [p.backward_pass("g(h).backward()", "g(h)", iterations(numbers)) for numbers in (freed, reused)]
    assert diagnose(p.freed("ExpBackward0", (), p.moment("f(w)", iterations(built)), *backward_passes)).code == code


@pytest.mark.parametrize(
    ("used_in", "same_root", "code"),
    [("fit(b)", False, "RTL106"), ("", False, "RTL103"), ("", True, "RTL102")],
)
def test_module_level_graph_given_to_a_helper_is_no_matter_of_init(used_in: str, same_root: bool, code: str) -> None:
    """What was built at module level and handed in is told by how it is walked; used in the calls, by where it was built."""
    incident = freed("kernel at module level")
    via = () if same_root else (replace(incident.via[0], frames=incident.via[0].frames if used_in else ()),)
    assert diagnose(replace(incident, via=via, same_root=same_root)).code == code


def test_loop_is_named_by_its_line_only_if_it_calls_what_walks() -> None:
    text = """
        def main():
            if ready:
                fit(data)

        def fit(data):
            for x in data:
                loss(x, table).backward()

        with torch.enable_grad():
            main()
        """
    p = Program(text)
    frames = ("main()", "fit(data)")
    backward_pass, loop = "loss(x, table).backward()", "for x in data"
    p_frames = tuple(p.span(frame, nth=2 if frame == "main()" else 1) for frame in frames)
    backward_passes = [p.backward_pass(backward_pass, "loss(x, table)", ((loop, n),)) for n in (1, 2)]
    backward_passes = [replace(w, moment=replace(w.moment, frames=p_frames)) for w in backward_passes]
    diagnostic = diagnose(p.freed("ExpBackward0", (), p.moment("ready"), *backward_passes))
    assert diagnostic.message.endswith("before this loop")


def test_method_called_again_is_a_loop_for_what_was_built_before_its_calls() -> None:
    p = Program("def setup(): s = w.exp()\ndef training_step(): s.sum().backward()\n")
    backward_passes = [p.backward_pass("s.sum().backward()", "s.sum()", (("call:training_step", n),)) for n in (1, 2)]
    diagnostic = diagnose(p.freed("ExpBackward0", ("result",), p.moment("w.exp()"), *backward_passes, name="s"))
    assert diagnostic.code == "RTL106"
    assert diagnostic.primary.text == "call 1 of `training_step` frees it; call 2 needs it again"


@pytest.mark.parametrize("name", FREED)
def test_two_conditions_make_a_warning_and_each_is_named(name: str) -> None:
    p = Program("if first: pass\nif second: pass\n", "train.py")
    incident = freed(name)
    one, two = p.condition("first"), p.condition("second", taken=False)
    assert diagnose(replace(incident, conditions=())).severity is Severity.ERROR
    single = diagnose(replace(incident, conditions=(one,)))
    assert single.severity is Severity.ERROR
    assert any("`first` is true" in note for note in single.notes)
    double = diagnose(replace(incident, conditions=(one, two)))
    assert double.severity is Severity.WARNING
    assert any("`first` is true" in note and "`second` is false" in note for note in double.notes)


def test_witness_tells_what_the_core_raised() -> None:
    error = "Trying to backward through the graph a second time (or directly access saved tensors ...)."
    witness = Witness((), "script", error, "AddmmBackward0")
    diagnostic = diagnose(replace(freed("hidden state"), witness=witness))
    assert diagnostic.witness is witness
    assert diagnostic.notes[0] == (
        'core: iteration 2 raised "Trying to backward through the graph a second time" at AddmmBackward0 (line 3)'
    )


def test_example_reads_both_sides_of_a_diff() -> None:
    example = Example(
        "t", "\n          a\n        - b  #~ freed\n        + if c:\n        +     d\n\n          e  #~ x\n"
    )
    assert example.program == "a\nb  #~ freed\n\ne  #~ x\n"
    assert example.fixed == "a\nif c:\n    d\n\ne\n"
    assert Example("t", "\n    a\n      b\n").program == "a\n  b\n"
    assert Example("t", "\n    a\n      b\n").fixed is None


def test_importing_the_rules_is_cheap() -> None:
    """Neither libcst nor numpy nor the machine comes along."""
    script = "import sys, retainlint.rules; print(*(m for m in sys.modules if m.split('.')[0] in W or m in R))"
    heavy = "W = {'libcst', 'numpy', 'click', 'torch'}; R = {'retainlint.symbolic', 'retainlint.autograd'}; "
    done = subprocess.run([sys.executable, "-c", heavy + script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


BEHIND = """
import torch

weight = torch.ones(3, requires_grad=True)
with torch.no_grad():
    first = weight.exp().sum()
first.backward()
second = weight.exp().sum()
second.backward()
second.backward()
"""


def test_a_finding_says_what_raises_before_it() -> None:
    first, second = check_source(BEHIND)
    assert not any("raises first" in each for each in first.notes)
    assert "note: line 7 raises first: this fails once that is mended" in second.notes
    (alone,) = check_source(BEHIND.replace("first.backward()\n", ""))
    assert not any("raises first" in each for each in alone.notes)
    branched = BEHIND.replace("first.backward()\n", "if input():\n    first.backward()\n")
    assert not any("raises first" in note for each in check_source(branched) for note in each.notes)


@pytest.mark.parametrize("emptied", ["losses = []", "losses.clear()"])
def test_a_list_that_is_emptied_at_times_says_where(emptied: str) -> None:
    (found,) = check_source(f"""
import torch

def train(net, loader, every):
    losses = []
    for i, x in enumerate(loader):
        loss = net(x).mean()
        loss.backward()
        losses.append(loss)
        if i % every == 0:
            {emptied}
""")
    assert found.code == "RTL204" and "until line 11 empties it" in found.message
