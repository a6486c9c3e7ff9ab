"""RTL110: an optimiser changed a weight that a later backward pass needs as it was."""

from __future__ import annotations

from retainlint.diagnostic import (
    BackwardFirst,
    ComputeAnew,
    ComputeInEach,
    Detach,
    Diagnostic,
    DropBackward,
    Help,
    MoveInto,
    SumLosses,
)
from retainlint.incident import BackwardPass, Modified
from retainlint.rules.modified_rules import ModifiedRule
from retainlint.rules.source_hints import assigned, is_made_between, named_outside
from retainlint.rules.story import Again, again, outer_call, shared_frames
from retainlint.rules.wording import listed, place
from retainlint.startup.records import replace
from retainlint.text.quoting import code, short
from retainlint.text.source import Span


class StepBeforeBackward(ModifiedRule):
    """`optimizer.step()` changed a weight in place between the forward pass that saved it and the backward that needs it.

    A layer above another saves its weight for the backward pass. `step()` changes weights in place, autograd notices,
    and the backward pass fails. This is what adding `retain_graph=True` often leads to: the first error goes, this
    one comes.

    Call backward on all losses before the first step, or compute the later loss again after it. `step()` leaves alone
    a parameter that its optimiser doesn't own or that has no gradient; and a single layer on plain data saves no
    weight.
    """

    code = "RTL110"

    def holds(self, incident: Modified) -> bool:
        return incident.by_step

    def report(self, incident: Modified) -> Diagnostic:
        home, backward_pass, step = incident.primary.source, incident.backward_pass, incident.modified.span
        name = code(incident.name) if incident.name else "a weight"
        root = code(_named_there(incident))
        iterations = again(incident.built, incident.modified, backward_pass.moment)
        change = outer_call(incident.modified, backward_pass.moment) or step
        is_near = incident.modified.frames[: len(backward_pass.moment.frames)] == backward_pass.moment.frames
        anew = outer_call(backward_pass.moment, incident.built) or backward_pass.moment.span
        built = outer_call(incident.built, backward_pass.moment) or incident.built.span
        where = f"{code(change.text)} on {place(change, home)}"
        first = Help(
            f"call backward on {root} before {where}",
            (BackwardFirst(backward_pass.moment.span, change),) if is_near else (),
        )
        fresh = Help(f"compute {root} again after {where}", (ComputeAnew(anew, built),))
        helps: tuple[Help, ...] = (replace(first, needs_proof=True), fresh)
        if iterations is None and is_made_between(backward_pass.root, change, backward_pass.moment.span):
            words = f"compute {code(built.text)}, and what is made of it, again after {code(change.text)}"
            fresh = Help(words, fresh.cures)
            late = Help("take that step after this backward, if it may use its gradients, too", first.cures)
            helps = (cut, fresh) if (cut := _constant(incident)) is not None else (fresh, late)
        elif iterations is None and (earlier := _of_one_loss(incident)) is not None:
            words = (
                f"call backward on {root} once: {where} after it, and no {code(earlier.moment.span.text)} before that"
            )
            helps = Help(words, (DropBackward(earlier.moment.span, backward_pass.moment.span, change),)), fresh
        elif iterations is None and (earlier := incident.earlier) is not None and change == earlier.moment.span:
            words = f"call backward once, on the sum of both losses: {code(step.text)} runs within the backward pass, as its hook"
            helps = (Help(words, (SumLosses((earlier.moment.span, backward_pass.moment.span)),)),)
        elif iterations is None and (earlier := _of_one_graph(incident)) is not None:
            summed = (
                f"call backward once, on the sum, before {where}: `({earlier.root} + {backward_pass.root}).backward()`"
            )
            both = (earlier.moment.span, backward_pass.moment.span)
            helps = Help(summed, (SumLosses(both, early=True),)), replace(first, needs_proof=True)
        elif iterations is not None and iterations.built is None and iterations.picks(backward_pass.root):
            written = f": {code(f'sum({iterations.iterable}).backward()')}" if iterations.iterable else ""
            total = Help(
                f"add the losses up, call backward on the sum once{written}, and step then",
                (SumLosses((backward_pass.moment.span,)),),
            )
            words = f"compute {root} again in each iteration, after the step of the one before"
            fresh = Help(words, (MoveInto(built, iterations.loop),))
            late = Help(f"take that step once, after the loop: {code(change.text)}", first.cures, needs_proof=True)
            helps = {"": (late, total), "own": (fresh, total), "other": (fresh,)}[incident.zeroed]
        elif iterations is not None and iterations.built is None:
            what = code(built.text)
            words = f"compute {what} again in each {iterations.noun}, with the weights of the {iterations.noun}"
            helps = (Help(words, (MoveInto(built, iterations.loop),)),)
            if iterations.goes_through(assigned(built)):  # one forward pass, of which each loss is a part
                once = "add the losses up in this loop, and call backward on the sum and step once, after it"
                helps = Help(once, (SumLosses((backward_pass.moment.span,)),)), *helps
        elif iterations is not None:
            helps = _carried(incident, iterations, built)
        message = f"{code(backward_pass.moment.span.text)} needs {name} as it was before {code(step.text)}"
        return self.modified(incident, message, *helps)

    fails = {
        "two losses, each with its step": """
              model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
              optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
              out = model(torch.randn(5, 3))  #~ built
              loss_a, loss_b = out[:, 0].mean(), out[:, 1].mean()
              loss_a.backward(retain_graph=True)
            - optimizer.step()  #~ modified
              loss_b.backward()  #~ backward RTL110
              optimizer.step()
        """,
        "one loss, backpropagated for each of two optimisers": """
              encoder, decoder = torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)
              x = torch.randn(5, 3)
              enc_opt, dec_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (encoder, decoder))
              loss = ((decoder(torch.tanh(encoder(x))) - x) ** 2).mean()  #~ built
              enc_opt.zero_grad()
            - loss.backward(retain_graph=True)
            - dec_opt.step()  #~ modified
              dec_opt.zero_grad()
              loss.backward()  #~ backward RTL110
            + dec_opt.step()
              enc_opt.step()
        """,
        "a step in a hook of each gradient": """
              body, heads = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
              optimizer = torch.optim.SGD(heads.parameters(), lr=0.1)
              heads.weight.register_post_accumulate_grad_hook(lambda weight: optimizer.step())  #~ modified
              out = heads(torch.tanh(body(torch.randn(5, 3))))  #~ built
              near, far = out[:, 0].mean(), out[:, 1].mean()
            - near.backward(retain_graph=True)
            - far.backward()  #~ backward RTL110
            + (near + far).backward()
        """,
        "the generator's loss scored before the discriminator's step": """
              G = torch.nn.Linear(2, 3)
              D = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
              opt_G, opt_D = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (G, D))
              score = D(G(torch.randn(4, 2)))  #~ built
            - (score ** 2).mean().backward(retain_graph=True)
            - opt_D.step()  #~ modified
            + (score ** 2).mean().backward()
            + opt_D.step()
            + score = D(G(torch.randn(4, 2)))
              g_loss = -score.mean()
              g_loss.backward()  #~ backward RTL110
              opt_G.step()
        """,
    }
    runs = {
        "one layer on plain data saves no weight": """
            model = torch.nn.Linear(3, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            out = model(torch.randn(5, 3))
            out[:, 0].mean().backward(retain_graph=True)
            optimizer.step()
            out[:, 1].mean().backward()
        """,
        "a step without gradients changes nothing": """
            model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            loss = model(torch.randn(5, 3)).mean()
            loss.backward(retain_graph=True)
            optimizer.zero_grad()
            optimizer.step()
            loss.backward()
        """,
    }


def _named_there(incident: Modified) -> str:
    """What the loss is called in the function that leads to the step and to the backward pass."""
    moment = incident.backward_pass.moment
    return named_outside(
        incident.backward_pass.root, moment.span, moment.frames[shared_frames(incident.modified, moment) :]
    )


def _of_one_graph(incident: Modified) -> BackwardPass | None:
    """The backward pass before the step that kept the graph for this one: both train what they share, as nobody zeroes between
    them, and what is this one's own has an optimiser that steps behind it."""
    return incident.earlier if incident.aside and not incident.zeroed else None


def _of_one_loss(incident: Modified) -> BackwardPass | None:
    """The backward pass before the step that started at the very loss of this one, in one function."""
    earlier, later = incident.earlier, incident.backward_pass
    if earlier is None or earlier.root != later.root or earlier.moment.frames != later.moment.frames:
        return None
    return None if is_made_between(later.root, earlier.moment.span, later.moment.span) else earlier


def _constant(incident: Modified) -> Help | None:
    """Of what the later loss isn't to train: it is detached where it enters what that alone goes through, in its own function or
    in the call that also made it; it is better detached before it is given to another call."""
    entered, backward_pass = incident.constant, incident.backward_pass
    if entered is None or not incident.aside or incident.zeroed != "other":
        return None
    if outer_call(entered, backward_pass.moment) not in (None, outer_call(incident.built, backward_pass.moment)):
        return None
    cut = entered.span
    words = f"use `{short(cut.text)}.detach()` for {code(backward_pass.root)}: its optimiser doesn't train what made it"
    return Help(words, (Detach(cut, cut.text, meant=True),))


def _carried(incident: Modified, iterations: Again, built: Span) -> tuple[Help, ...]:
    """Of what one iteration leaves for the next, with the weights of before."""
    words = f"compute at the start of each {iterations.noun} what the one before hands on"
    ahead = Help(words, (ComputeInEach(iterations.loop),), needs_proof=True)
    anew = f"compute {code(built.text)} again after that step"
    if incident.sole:
        root, step = code(incident.backward_pass.root), incident.modified
        inner = {each.loop for each in incident.backward_pass.moment.iterations} - {
            each.loop for each in step.iterations
        }
        if inner and incident.holders:  # a loop within the iteration walks back through those before it
            words = f"keep no more in {listed([code(each.name) for each in incident.holders])} than was computed since the last step"
            words += f", or take {code(step.span.text)} only once all of it was walked through: it reaches back behind a step"
            return ahead, Help(words)
        return ahead, Help(f"{anew}, of what it was computed of then: nothing else in {root} trains anything")
    words = f"detach {_held(incident)} from {iterations.noun} to {iterations.noun}"
    cut = Help(words, (Detach(built, incident.name, iterations.loop, holders=incident.holders),))
    return ahead, cut, Help(f"{anew}, if gradients are to flow through it")


def _held(incident: Modified) -> str:
    """What hands a graph on to the next iteration, as far as that was seen."""
    names = [code(each.name) for each in incident.holders]
    return f"what {listed(names)} {'keep' if len(names) > 1 else 'keeps'}" if names else "what is kept"
