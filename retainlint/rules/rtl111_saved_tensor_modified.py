"""RTL111: a tensor that the graph had saved was changed in place before the backward pass."""

from __future__ import annotations

import re

from retainlint.diagnostic import BackwardFirst, ChangeBehind, ComputeAnew, Diagnostic, Help, OutOfPlace
from retainlint.incident import Modified, Moment
from retainlint.rules import source_hints as hints
from retainlint.rules.modified_rules import ModifiedRule, base, rewritten, without_twin
from retainlint.rules.story import again, outer_call, shared_frames
from retainlint.rules.wording import named, place
from retainlint.text.quoting import code, short
from retainlint.text.source import Span


class SavedTensorModified(ModifiedRule):
    """A tensor that the graph had saved was changed in place before the backward pass that needs it.

    Multiplying, dividing and matrix products save their operands, `exp`, `sigmoid`, `tanh`, `relu` and `softmax`
    their results. Autograd counts the in-place changes of each tensor and refuses to compute with one that is no
    longer what it was. `x += 1`, `x[0] = 0`, `x.clamp_()`, `copy_()` and `load_state_dict()` all count, under
    `torch.no_grad()` too, and so do changes of `x.detach()`, which is the same memory.

    Write the change out of place (`x = x + 1`), change a `clone()`, or call backward first. A change through `.data`
    isn't counted: it gives wrong gradients in silence.
    """

    code = "RTL111"

    def report(self, incident: Modified) -> Diagnostic:
        backward_pass, change = incident.backward_pass.moment.span, incident.modified.span
        text = code(hints.statement(change))
        name = named(incident.name or base(change), "a tensor")
        message = f"{code(backward_pass.text)} needs {name}, which {text} changed in place after it was saved"
        first, other = self._backward_first(incident), self._out_of_place(incident, name)
        if backward_pass in incident.modified.frames:  # in what it runs itself: a hook, the backward of a function
            helps: tuple[Help, ...] = ()
        elif not incident.recorded:  # an update by hand, new weights: the change itself is right
            anew = Help(f"compute {code(incident.backward_pass.root)} again after it")
            held = re.split(r"\.\w+_\(", incident.name)[0] or base(change)  # of a chain, what it begins with
            copied: tuple[OutOfPlace, ...] = (OutOfPlace(incident.built.span, held),)
            if again(incident.built, incident.modified, incident.backward_pass.moment) is None:
                late = ", once the optimiser has stepped" if incident.owned else ""
                words = f"make that change after {code(backward_pass.text)}{late}"
                is_read = held != "" and held in incident.built.span.text
                if incident.leaf and _is_hooked(incident.modified):
                    anew = Help(f"{words}, and not in a hook, which each call of the forward pass runs")
                elif incident.leaf and not incident.by_step and not is_read and _is_made_in_each(incident):
                    words = f"take {code(hints.statement(change))} ({place(change, backward_pass.source)}) out of the forward pass, each"
                    anew = Help(
                        f"{words} call of which makes it, and make it once the optimiser has stepped, and before the first"
                    )
                elif incident.leaf and not incident.by_step and _is_of_one_call(incident):
                    made = hints.sole_name(incident.built.span) or short(incident.built.span.text)
                    words = f"compute {code(made)} again after the change of {name}: what was made before is of its old numbers"
                    anew = Help(words)
                elif is_read and (_is_of_one_call(incident) or _is_of_like_calls(incident)):
                    anew = Help(f"build the graph from `{held}.clone()`", copied)
                elif _is_of_one_call(incident):
                    inner = outer_call(incident.modified, incident.built) or change
                    words = f"move {code(hints.statement(inner))} ({place(inner, backward_pass.source)}) after {code(backward_pass.text)}"
                    anew = Help(words)
                elif (fresh := _behind_change(incident)) is not None:
                    anew = fresh
                else:
                    words += f", or build the graph from `{held}.clone()`" * is_read
                    anew = Help(words, copied if is_read else ())
            if incident.name == f"{change.text.partition('(')[0]}.weight":
                is_spelt = hints.is_named(incident.name, incident.built.span.text)
                taken = f"use `{incident.name}.clone()` before it"
                given = f"give `{short(incident.built.span.text)}` a clone of `{incident.name}`"
                words = f"{taken if is_spelt else given}: with `max_norm`, a look-up shortens rows in place"
                anew = Help(words, copied)
            inside = _within_block(incident, name) or _until_put_back(incident)
            is_behind_step = any(isinstance(each, ChangeBehind) for help in first for each in help.cures)
            helps = (inside,) if inside is not None else first if is_behind_step else (*first, anew)
        elif _is_of_a_layer(incident):
            words = "`inplace=False` for the layer that changes it, which makes a new tensor then: the one before has saved its result"
            helps = (Help(words, (OutOfPlace(change),)),)
        else:
            helps = (
                *(Help(words, (OutOfPlace(change, whole=incident.whole),)) for words in other),
                *_copied(incident),
                *first,
            )
        return self.modified(incident, message, *(helps or (Help("make the change on a copy", (OutOfPlace(change),)),)))

    def _backward_first(self, incident: Modified) -> tuple[Help, ...]:
        """The change is meant, and only comes too early; not where the loss is made after it."""
        backward_pass = incident.backward_pass.moment
        change = outer_call(incident.modified, backward_pass) or incident.modified.span
        if (moved := _behind_step(incident, change)) is not None:
            return (moved,)
        same_call = incident.modified.frames[: len(backward_pass.frames)] == backward_pass.frames
        if not same_call or change.start > backward_pass.span.start:
            return ()
        if incident.built.span in change or change in incident.built.span:  # one call saves it and changes it
            return ()
        if _is_of_one_call(incident):
            return ()
        later = (BackwardFirst(backward_pass.span, change),)
        if hints.is_made_between(incident.backward_pass.root, change, backward_pass.span):
            words = f"move {code(hints.statement(change))} after {code(backward_pass.span.text)}"
            return () if incident.recorded else (Help(words, later, needs_proof=True),)
        root, where = code(incident.backward_pass.root), place(change, backward_pass.span.source)
        if hints.is_zeroed_between(change, backward_pass.span):
            return ()  # it would clear what the backward pass leaves
        words = f"call backward on {root} before the change on {where}"
        return (Help(words, later),)

    def _out_of_place(self, incident: Modified, name: str) -> list[str]:
        """The change makes a new tensor, or is made on one."""
        change = incident.modified.span
        held = re.match(r"[\w.]+?(?=\[|\.\w+_\()", change.text)
        if held is not None and (copied := hints.detached_as(held[0], change)):
            return [f"{code(f'{held[0]} = {copied}.clone()')}: what is only detached is the same memory"]
        if changed := base(change):
            target, _, rows = hints.statement(change).partition("=")
            read = re.findall(rf"(?<![\w.]){re.escape(changed)}(\[[^\[\]]*\]?)", rows)
            if any(
                not target.rstrip(" +-*/@").endswith(each) for each in read
            ):  # other rows, which a copy would take along
                if not re.search(r"\[[^\]:]*[A-Za-z_]", change.text.partition("=")[0]):
                    return [
                        f"put {code(changed)} together anew of its parts, as by `torch.cat`: a write changes what was saved of it"
                    ]
                stacked = f"gather the rows of {code(changed)} in a list, and `torch.stack` them after the loop"
                return [f"{stacked}: each write changes what earlier iterations have saved"]
            return [f"change a copy: {code(f'{base(change)} = {base(change)}.clone()')} before it"]
        if filled := without_twin(change.text):
            return [f"change a copy: {code(f'{filled} = {filled}.clone()')} before it"]
        if new := rewritten(change.text):
            if function := hints.only_changes(change, base(change) or change.text.partition(".")[0]):
                made = new.strip("`").partition(" = ")[2] or new.strip("`")
                return [f"let {code(function)} return {code(made)}, and go on with that: it changes what it was given"]
            if change.text.endswith(")") and not hints.stands_alone(change):  # what it gives is bound, or used
                new = code(new.strip("`").partition(" = ")[2])
            return [f"{new} instead of {code(change.text)}"]
        if change.text.endswith(")") and not _is_written(change):
            return ["`inplace=False` for the layer, or in the call, that changes it: it makes a new tensor then"]
        is_copy = name.startswith("`") and "[" not in name
        return [f"build the graph from `{name.strip('`')}.clone()`"] if is_copy else []

    fails = {
        "a factor changed after the product": """
              w = torch.ones(3, requires_grad=True)
              scale = torch.ones(3)
              loss = (w * scale).sum()  #~ built
            - scale += 1  #~ modified
            + scale = scale + 1
              loss.backward()  #~ backward RTL111
        """,
        "a result that its own function saved": """
              w = torch.ones(3, requires_grad=True)
              y = torch.exp(w)  #~ built
            - y.mul_(2)  #~ modified
            + y = y.mul(2)
              y.sum().backward()  #~ backward RTL111
        """,
        "a weight updated by hand before backward": """
              w = torch.ones(3, requires_grad=True)
              loss = (w ** 2).sum()  #~ built
            + loss.backward()
              with torch.no_grad():
                  w.sub_(0.1)  #~ modified
            - loss.backward()  #~ backward RTL111
        """,
        "a view that is divided by what it adds up to": """
              w = torch.zeros(6, requires_grad=True)
              masks = torch.sigmoid(w).view(3, 2).t().unsqueeze(0)  #~ built
            - masks /= masks.sum(1, keepdim=True)  #~ modified
            + masks = masks / masks.sum(1, keepdim=True)
              masks.square().sum().backward()  #~ backward RTL111
        """,
        "weights that a block sets back as it ends": """
              import contextlib

              @contextlib.contextmanager
              def noisy(weight, noise):
                  with torch.no_grad():
                      weight.add_(noise)
                  yield
                  with torch.no_grad():
                      weight.sub_(noise)  #~ modified

              w = torch.ones(3, requires_grad=True)
              with noisy(w, torch.full((3,), 0.1)):
                  loss = w.square().sum()  #~ built
            +     loss.backward()
            - loss.backward()  #~ backward RTL111
        """,
    }
    runs = {
        "a product with a number doesn't save its result": """
            w = torch.ones(3, requires_grad=True)
            y = w * 3
            y /= 2
            y.sum().backward()
        """,
        "the changed tensor was only added": """
            w = torch.ones(3, requires_grad=True)
            offset = torch.ones(3)
            loss = (w + offset).sum()
            offset += 1
            loss.backward()
        """,
    }


def _is_of_a_layer(incident: Modified) -> bool:
    """Whether one call, of a network, saves the tensor and changes it, in what the program doesn't write itself."""
    change = incident.modified.span
    return change == incident.built.span and not incident.name and not _is_written(change)


def _is_written(change: Span) -> bool:
    """Whether the program writes itself that something is changed in place."""
    return re.search(r"\w_\(|[-+*/@%|&^]=|\]\s*=(?!=)|\bout=", hints.statement(change)) is not None


def _is_hooked(change: Moment) -> bool:
    """Whether a change is made in a function that the program registers as a hook of a forward pass."""
    names = {hints.enclosing_function(each) for each in (change.span, *change.frames)} - {""}
    hooked = re.findall(r"register_forward_(?:pre_)?hook\(([^()\n]*)", change.span.source.text)
    return any(name in re.findall(r"\w+", given) for name in names for given in hooked)


def _is_of_one_call(incident: Modified) -> bool:
    """Whether one call, as the function of the backward pass sees it, saves the tensor and changes it."""
    change = outer_call(incident.modified, incident.backward_pass.moment)
    return change is not None and change == outer_call(incident.built, incident.backward_pass.moment)


def _is_of_like_calls(incident: Modified) -> bool:
    """Whether two calls of one function, or network, do so: the change belongs to what it computes."""
    change = outer_call(incident.modified, incident.backward_pass.moment)
    built = outer_call(incident.built, incident.backward_pass.moment)
    called = [each.text.partition("(")[0] for each in (change, built) if each is not None]
    return len(called) == 2 and called[0] == called[1]


def _copied(incident: Modified) -> tuple[Help, ...]:
    """Of an attribute that another function changes: a copy of it is saved, whatever that does to it."""
    held = base(incident.modified.span) or re.split(r"\.\w+_\(", incident.modified.span.text)[0]
    is_elsewhere = hints.enclosing_function(incident.built.span) != hints.enclosing_function(incident.modified.span)
    if not (is_elsewhere and re.fullmatch(r"\w+(\.\w+)+", held) and held in incident.built.span.text):
        return ()
    return (Help(f"build the graph from `{held}.clone()`", (OutOfPlace(incident.built.span, held),)),)


def _is_made_in_each(incident: Modified) -> bool:
    """Whether each call of what saves the tensor makes the change as well: computed after it, it would be spoilt the same."""
    change, built = outer_call(incident.modified, incident.built), outer_call(incident.built, incident.modified)
    if change is None or built is None:
        return False
    shared = shared_frames(incident.modified, incident.built)
    within = (*incident.modified.frames[shared + 1 :], incident.modified.span)
    saving = incident.built.span.source, hints.enclosing_function(incident.built.span)
    is_like = change.text.partition("(")[0] == built.text.partition("(")[0]
    return is_like or saving in {(each.source, hints.enclosing_function(each)) for each in within}


def _behind_step(incident: Modified, change: Span) -> Help | None:
    """Of a change of weights that an optimiser trains, which the loss has no need of: what is to hold of them when they are used
    next is done once the optimiser has changed them too."""
    backward_pass = incident.backward_pass.moment
    called = outer_call(backward_pass, incident.modified)
    place_there = called or backward_pass.span
    if not incident.owned or change.source is not place_there.source or change.start > place_there.start:
        return None
    if _is_of_one_call(incident) or _is_made_in_each(incident):
        return None
    root = incident.backward_pass.root
    if root in hints.assigned(change):
        return None  # it computes the loss as well: a look-up with `max_norm`
    if hints.is_made_between(root, change, place_there) or hints.is_zeroed_between(change, place_there) is None:
        return None
    if (step := hints.step_behind(backward_pass.span)) is None:
        return None
    words = f"move {code(hints.statement(change))} ({place(change, incident.primary.source)}) after {code((called or step).text)}"
    return Help(f"{words}, which changes those weights as well", (ChangeBehind(change, called or step),))


def _within_block(incident: Modified, name: str) -> Help | None:
    """Of a change that a block makes as it ends, behind the forward pass inside it: backward belongs inside, too."""
    backward_pass = incident.backward_pass.moment
    change, built = outer_call(incident.modified, backward_pass), outer_call(incident.built, backward_pass)
    if change is None or built is None or not change.start < built.start < backward_pass.span.start:
        return None
    if not hints.opens_block(change):
        return None
    words = f"call backward inside {code(f'with {change.text}:')}, which changes {name} back at its end"
    return Help(words, (BackwardFirst(backward_pass.span, change),))


def _until_put_back(incident: Modified) -> Help | None:
    """Of a change that is put back behind the backward pass: what was computed before it is walked before it."""
    backward_pass = incident.backward_pass.moment.span
    change = outer_call(incident.modified, incident.backward_pass.moment) or incident.modified.span
    back = hints.undone_behind(incident.modified.span, change, backward_pass)
    if incident.by_step or back is None or change.start > backward_pass.start:
        return None
    row = place(back, backward_pass.source)
    words = f"call backward on what was computed before {code(hints.statement(change))} there, as that is put back on {row}: gradients add up"
    return Help(words, (BackwardFirst(backward_pass, change, parts=True),))


def _behind_change(incident: Modified) -> Help | None:
    """Of a change that the loss itself needs: what the change spoils can only be computed behind it."""
    backward_pass = incident.backward_pass.moment
    change = outer_call(incident.modified, backward_pass) or incident.modified.span
    built = outer_call(incident.built, backward_pass) or incident.built.span
    if _is_made_in_each(incident) or not hints.is_made_between(incident.backward_pass.root, change, backward_pass.span):
        return None
    if any(hints.is_named(each, change.text) for each in hints.assigned(built)):
        return None  # the change needs what is computed there
    words = f"compute {code(built.text)} after the change on {place(change, backward_pass.span.source)}"
    return Help(words, (ComputeAnew(backward_pass.span, built),))
