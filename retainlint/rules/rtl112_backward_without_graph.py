"""RTL112: backward is called on a tensor that has no graph."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retainlint.diagnostic import CreateGraph, Cure, Diagnostic, Help, Label, Severity, StraightThrough, Uncut
from retainlint.incident import Moment, NoGraph
from retainlint.rules.cut_rules import CUTS, outside_of
from retainlint.rules.rule import IncidentRule
from retainlint.rules.source_hints import draws_reals, input_of, is_judged, unrecorded_in, used_as_index
from retainlint.rules.story import shared_frames
from retainlint.rules.wording import core_note, place
from retainlint.text.quoting import code, short
from retainlint.text.source import Span

SENTENCE = "element 0 of tensors does not require grad and does not have a grad_fn"
_SWITCH = "set_grad_enabled"
_CALLING = "hooks, and `backward` of custom functions, with gradients off"
_DRAWN = re.compile(r"\b(multinomial|bernoulli|binomial)\(|\.sample(?:_n)?\([^()]*\)$")
"""What draws at random, by the names that torch has for it: nothing flows back through a choice."""


class BackwardWithoutGraph(IncidentRule[NoGraph]):
    """Backward is called on a tensor that has no graph: nothing below it requires a gradient.

    The graph was cut (`detach()`, `.data`, `.item()` wrapped into a tensor again), or never recorded (`torch.no_grad()`
    around the forward pass, or nothing that went in requires a gradient). Where backward itself is called doesn't
    matter: `backward()` inside `no_grad` is legal. In hooks of tensors, and in the methods of a custom
    `autograd.Function`, gradients are off: what is differentiated there has to be computed under `torch.enable_grad()`.

    Setting `requires_grad_()` on the loss makes the error go, and trains nothing.
    """

    code = "RTL112"
    kind = NoGraph

    def report(self, incident: NoGraph) -> Diagnostic:
        backward_pass = incident.backward_pass.moment.span
        warning = f"note: `requires_grad_()` on {code(incident.backward_pass.root)} would only hide this: nothing would be trained"
        return self.diagnostic(
            incident,
            f"{code(backward_pass.text)} starts at a tensor without a graph",
            (*_labels(incident), Label(backward_pass, "no graph to backpropagate through", primary=True)),
            *_helps(incident),
            notes=(core_note(incident.witness, "", SENTENCE, "backward", ""), warning),
            severity=Severity.WARNING if incident.rarely else None,
        )

    fails = {
        "a forward pass under no_grad": """
              model = torch.nn.Linear(3, 1)
            - with torch.no_grad():
            -     loss = model(torch.randn(4, 3)).mean()
            + loss = model(torch.randn(4, 3)).mean()
              loss.backward()  #~ backward RTL112
        """,
        "a loss detached for the log, then used for backward": """
              w = torch.ones(3, requires_grad=True)
            - loss = (w * w).sum().detach()
            + loss = (w * w).sum()
              print(loss.item())
              loss.backward()  #~ backward RTL112
        """,
        "a tensor made anew of the numbers of another": """
              w = torch.ones(3, requires_grad=True)
            - loss = torch.tensor((w * w).sum())
            + loss = (w * w).sum()
              loss.backward()  #~ backward RTL112
        """,
        "an attribute of a module, which lets none of its parameters go": """
              net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
              for p in net.parameters():
                  p.requires_grad = False
            - net[1].requires_grad = True
            + net[1].requires_grad_(True)
              net(torch.ones(3)).sum().backward()  #~ backward RTL112
        """,
        "a matrix of what is trained": """
              angle = torch.zeros((), requires_grad=True)
            - turn = torch.tensor([[angle.cos(), -1], [0, angle.cos()]])
            + turn = torch.stack([torch.stack([angle.cos(), torch.tensor(-1)]), torch.stack([torch.tensor(0), angle.cos()])])
              (turn @ torch.ones(2)).sum().backward()  #~ backward RTL112
        """,
        "a backward of one's own, which torch runs with gradients off": """
              class Cube(torch.autograd.Function):
                  @staticmethod
                  def forward(ctx, x):
                      ctx.save_for_backward(x)
                      return x ** 3

                  @staticmethod
                  def backward(ctx, grad):
                      (x,) = ctx.saved_tensors
            -         cube = x ** 3
            +         with torch.enable_grad():
            +             cube = x ** 3
                      return torch.autograd.grad(cube, x, grad)  #~ backward RTL112

              w = torch.ones(3, requires_grad=True)
              Cube.apply(w).sum().backward()
        """,
        "the mean of numbers that were taken of tensors": """
              w = torch.ones(3, requires_grad=True)
              losses = []
              for x in torch.randn(4, 3):
            -     losses.append((w * x).square().sum().item())
            +     losses.append((w * x).square().sum())
            - loss = torch.tensor(losses).mean()
            + loss = torch.stack(losses).mean()
              loss.backward()  #~ backward RTL112
        """,
        "nothing requires a gradient": """
            - w = torch.ones(3)
            + w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()
              loss.backward()  #~ backward RTL112
        """,
    }
    runs = {
        "only backward stands under no_grad": """
            w = torch.ones(3, requires_grad=True)
            loss = (w * w).sum()
            with torch.no_grad():
                loss.backward()
        """,
        "one of two operands is detached": """
            w = torch.ones(3, requires_grad=True)
            loss = (w * w.detach()).sum()
            loss.backward()
        """,
    }


def _labels(incident: NoGraph) -> tuple[Label, ...]:
    """Where the graph is lost, and the block or decorator that has none recorded."""
    cut, text = incident.cut, CUTS[incident.reason][0]
    if (numbers := incident.numbers) is not None:
        return (Label(numbers.taken.span, "the graph ends here: numbers have none"),)
    if cut is None or cut.span == incident.primary:
        return ()
    if _freezes(incident):
        text = "frozen here: it requires no gradient from here on"
    if _is_cut_by_itself(incident):
        text = f"the graph ends here: no gradient flows through {code(cut.span.text)}"
    block = unrecorded_in(cut) if incident.reason == "no_grad" else None
    if block is not None and "inference_mode" in block.text:
        text = text.replace("no_grad", "inference_mode")
    above = () if block is None else (Label(block, "no graph is recorded in here"),)
    if (off := _switch(incident)) is not None and _SWITCH not in off.text:
        above, text = (Label(off, f"runs {_CALLING}"),), "computed without a graph"
    elif off is not None:
        above = (Label(off, "no graph is recorded from here on"),)
    taken = () if incident.taken is None else (Label(incident.taken, "gives numbers, which have no graph either"),)
    called = cut.frames[shared_frames(cut, incident.backward_pass.moment) :] if incident.reason == "leaf" else ()
    through = (Label(each, "through this call") for each in called[-1:])
    return (*above, Label(cut.span, text), *through, *(Label(each, text) for each in incident.beside), *taken)


def _helps(incident: NoGraph) -> Iterator[Help]:
    cut = incident.cut
    if (numbers := incident.numbers) is not None:
        taken = numbers.taken.span
        words = f"keep tensors all the way: {code(taken.text)} on {place(taken, incident.primary.source)} gives numbers, which have no graph"
        if taken.text.endswith(".numpy()"):
            words = f"stay with torch's functions all the way: {code(taken.text)} on {place(taken, incident.primary.source)} has no graph"
        yield Help(words, (Uncut(taken, "numbers", numbers.wrapped),))
        return
    if incident.flat is not None:
        assert cut is not None
        yield _straight_through(incident.flat, cut.span)
        return
    if cut is not None and _is_cut_by_itself(incident):
        yield from _of_a_step(cut.span, incident.backward_pass.root)
        return
    if (off := _switch(incident)) is not None and _SWITCH not in off.text:
        words = f"compute {code(incident.backward_pass.root)} under `torch.enable_grad()`: torch runs {_CALLING}"
        yield Help(words, (Uncut(incident.backward_pass.moment.span, "off"),))
        return
    if off is not None:
        switch = off.text.partition(_SWITCH)[0]
        yield Help(
            f"`with {switch}no_grad():` around what needs no gradient, in place of {code(off.text)} on "
            f"{place(off, incident.primary.source)}, which holds until gradients are switched on again",
            (Uncut(off, "switch"),),
        )
        return
    if incident.reason == "leaf" and cut is None and incident.learns:
        yield Help(
            "compute it of what the optimiser's weights make, and keep tensors all the way there: `.item()`, `.tolist()` and numpy"
            " give numbers, which have no graph"
        )
        return
    if cut is not None and ".from_pretrained(" in cut.span.text:
        yield Help("let the given rows be trained: `freeze=False`", (Uncut(cut.span, "pretrained"),))
    is_asked = incident.reason == "detach" and re.search(r"\bgrad\(", incident.primary.text)
    if is_asked or (incident.reason in ("leaf", "no_grad") and re.search(r"\.grad\b", incident.primary.source.text)):
        words = "let the input whose gradient is read require one"
        yield Help(words, (Uncut(incident.primary, "read"),), needs_proof=True)
    first, *others = CUTS[incident.reason][1]
    first = first if cut is None else _first_words(cut, incident) or first
    asked: tuple[Cure, ...] = (Uncut(incident.primary, "leaf"),) if incident.reason == "leaf" else ()
    if asked and cut is not None:
        places = (cut.span, *reversed(cut.frames))
        moved = (Uncut(span, reason) for reason in ("shared", "frozen") for span in places)
        asked = (*moved, *asked)
    if cut is not None and incident.reason == "no_grad":
        both = cut.frames[: shared_frames(cut, incident.backward_pass.moment)]
        if around := tuple(Uncut(span, "around") for span in reversed(both)):
            enabled = (Uncut(incident.primary, "enabled"),)
            yield Help("let the function that differentiates record: `@torch.enable_grad()`", enabled, needs_proof=True)
            yield Help("call what is differentiated under `torch.enable_grad()`", around, needs_proof=True)
    yield Help(first, _cures(cut, incident) if cut is not None and not asked else asked)
    yield from map(Help, others)


def _first_words(cut: Moment, incident: NoGraph) -> str:
    """What is told first of a graph that is lost at a place, where that says more than its reason does; else ""."""
    if incident.reason == "no_grad" and (block := unrecorded_in(cut)) is not None:
        if "set_grad_enabled" not in block.text and unrecorded_in(incident.backward_pass.moment) == block:
            root, under = code(incident.backward_pass.root), code(block.text.strip().removesuffix(":"))
            return f"put {root}, and what differentiates it, under `torch.enable_grad()`: both stand under {under}"
        return outside_of(block, incident.primary.source, cut.span)
    if _freezes(incident) and _is_let_go(cut, incident):
        by = next(reversed(cut.frames[shared_frames(cut, incident.backward_pass.moment) :]), cut.span)
        where = f"{code(by.text)} on {place(by, incident.primary.source)}"
        return f"freeze only what isn't to be trained yet, or unfreeze the rest behind {where}, which freezes all of it"
    if _freezes(incident):
        return f"unfreeze what is to be trained; if only no graph was wanted, `torch.no_grad()` in place of {code(cut.span.text)}"
    if incident.reason == "leaf" and cut.span.text.endswith(".requires_grad"):
        frozen = f"{code(cut.span.text)} on {place(cut.span, incident.primary.source)}"
        return f"don't freeze what is to be trained: {frozen} is switched off"
    return ""


def _of_a_step(cut: Span, root: str) -> Iterator[Help]:
    """What is to be done about an operation through which no gradient flows."""
    if (drawn := _DRAWN.search(cut.text)) is None:
        yield Help(_of_a_choice(cut, root), (Uncut(cut, "choice"), Uncut(cut, "detach")))
        return
    words = "train by the log-probability of what is drawn, as in `-(dist.log_prob(action) * reward).mean()`"
    by_reward = Help(f"{words}: the draw itself has no gradient")
    if drawn[1] is not None:
        yield by_reward
    elif draws_reals(cut):
        yield Help("draw with `rsample()`, which the gradient flows through", (Uncut(cut, "drawn"),))
        yield by_reward
    else:
        yield by_reward
        yield Help("draw with `rsample()`, if the distribution has it, as those of real numbers do")


def _straight_through(flat: Span, cut: Span) -> Help:
    """What is to be done about an operation whose gradient is always zero, and what cuts it off beside."""
    text, given = flat.text, input_of(flat.text)
    name = given if re.fullmatch(r"[\w.]+", given) else "a"
    passed = f"{name} + ({text.replace(given, name, 1)} - {name}).detach()"
    where = f" with `a = {given}`" if name == "a" else ""
    way = f", as `{passed}`{where}" if given else ""
    words = f"let {code(text)} pass the gradient straight through{way}, and detach nothing else: its own gradient is zero everywhere"
    return Help(words, (StraightThrough(flat, cut),))


def _of_a_choice(cut: Span, root: str) -> str:
    """What is to be done about a comparison, or an index, through which no gradient flows."""
    text = cut.text
    compared = re.fullmatch(r"([\w.]+(?:\(.*\))?) ?(?:[<>]=?|[=!]=) ?[^=]+", text, re.DOTALL)
    if compared is not None:
        left = compared[1]
        if is_judged(cut, root):
            return f"compute {code(root)} of {code(left)} itself: through a comparison no gradient flows"
        return (
            f"compute the loss of {code(left)} itself; or let the step pass the gradient straight through, as"
            f" `{short(left)} + (({short(text)}).float() - {short(left)}).detach()`"
        )
    if re.search(r"\barg(max|min|sort)\(", text):
        looks_up, computes = used_as_index(cut)
        if computes and not looks_up:
            return (
                "an index has no gradient: compute the position as the mean of all, weighted by the softmax of the numbers that it is"
                " chosen by (soft-argmax), as `(z.softmax(-1) * torch.arange(z.shape[-1])).sum(-1)`"
            )
        passed = "; a row `q` that is looked up for `z` passes the gradient on as `z + (q - z).detach()`" * looks_up
        words = "an index has no gradient: compute the loss of the numbers that it is chosen by, as `F.cross_entropy(logits, target)`"
        return f"{words} does{passed}"
    return f"call backward on a loss of what goes into {code(text)}"


def _switch(incident: NoGraph) -> Span | None:
    """The statement that switched gradients off, where no block or decorator did."""
    return incident.switched if incident.cut is not None and unrecorded_in(incident.cut) is None else None


def _is_cut_by_itself(incident: NoGraph) -> bool:
    """Whether what cuts the graph is an operation that has no gradient, and no `detach()`."""
    return incident.reason == "detach" and incident.cut is not None and "detach" not in incident.cut.span.text


def _freezes(incident: NoGraph) -> bool:
    """Whether a method has frozen what would have a graph."""
    return incident.reason == "leaf" and incident.cut is not None and ".requires_grad_(" in incident.cut.span.text


_LETS_GO = r"\b{}\.requires_grad(?:_\((?!\s*False\b)| *= *(?![ =]|False\b))"


def _is_let_go(cut: Moment, incident: NoGraph) -> bool:
    """Whether what freezes is told at times to let go, or the same name is let go elsewhere: it isn't frozen to have no graph."""
    lets_go = re.compile(_LETS_GO.format(re.escape(cut.span.text.partition(".requires_grad")[0])))
    return any(
        lets_go.search(each.text) for each in {span.source for span in (cut.span, *cut.frames, incident.primary)}
    )


def _cures(cut: Moment, incident: NoGraph) -> tuple[Cure, ...]:
    reason = incident.reason
    if reason == "create_graph":
        return (CreateGraph(cut.span),)
    if reason in ("detach", "data", "copied", "wrapped", "checkpoint"):
        return (Uncut(cut.span, reason, beside=incident.beside),)
    if reason == "no_grad":  # the block stands in any of the functions that are being called
        return tuple(Uncut(span, reason) for span in (cut.span, *reversed(cut.frames)))
    return ()
