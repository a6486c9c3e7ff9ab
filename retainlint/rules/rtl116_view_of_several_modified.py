"""RTL116: one of several views that one operation gave is changed in place while autograd records."""

from __future__ import annotations

import ast

from retainlint.diagnostic import Diagnostic, Help, Label, OutOfPlace
from retainlint.incident import ViewModified
from retainlint.rules.modified_rules import base, rewritten
from retainlint.rules.rule import IncidentRule
from retainlint.rules.source_hints import statement
from retainlint.rules.wording import core_note, named
from retainlint.text.loop_headers import gone_through
from retainlint.text.quoting import code
from retainlint.text.source import Span


class ViewOfSeveralModified(IncidentRule[ViewModified]):
    """One of several views that one operation gave is changed in place while autograd records.

    `chunk`, `split` and `unbind` give several views of one tensor, and so do `a, b = tensor` and `for row in tensor`.
    They share one node, which can't follow a change of one of them, so torch refuses an in-place change of a piece,
    and of any view of it. Write it out of place, `gate = gate.sigmoid()`, or change a copy. A row that a loop gives
    is then no row of the tensor any more: stack the new ones, `x = torch.stack([row / row.sum() for row in x])`, or
    write to `x[i]`. What `tensor[0]`, `narrow` or `tensor_split` give may be changed in place. What a module is
    given, or gives, on which a full backward hook is registered is such a view, too: `nn.ReLU(inplace=True)` behind it
    is refused. Under `torch.no_grad()` the change itself isn't refused, but the next use of the piece with gradients is.
    """

    code = "RTL116"
    kind = ViewModified

    def report(self, incident: ViewModified) -> Diagnostic:
        change, sentence = incident.modified.span, "is a view and is being modified inplace"
        text = statement(change)
        held = base(change) or incident.name
        name = named(held, "a view")
        words, listed = "change a copy", _rows(incident.made, held)
        if listed and base(change):
            words = (
                f"write to {code(listed)} itself, by its index or a mask: a copy of the row would leave it as it was"
            )
        if new := rewritten(text):
            words = f"{new}, a new tensor: it leaves what the view is of as it was"
            if listed:
                words = f"make a tensor of the new rows by `torch.stack`, if they are to be those of {code(listed)}; else {new}"
        what = "one of several views of one tensor"
        labels = "several views of one tensor", "torch refuses to change one of them in place"
        if incident.is_hooked:
            what = "which goes through a full backward hook of a module"
            labels = (
                "this module has a full backward hook: what it is given, and gives, are views",
                "torch refuses to change one in place",
            )
            if not (base(change) or rewritten(text)):
                words = "`inplace=False` for the layer that changes it, which makes a new tensor then"
        return self.diagnostic(
            incident,
            f"{code(text)} changes {name} in place, {what}",
            (Label(incident.made, labels[0]), Label(change, labels[1], primary=True)),
            Help(words, (OutOfPlace(change, rows=listed != ""),)),
            notes=(core_note(incident.witness, "", sentence, "the change", ""),),
        )

    fails = {
        "behind a full backward hook": """
              net = torch.nn.Linear(2, 2)
              net.register_full_backward_hook(lambda *_: None)
              y = net(torch.ones(1, 2))
            - y += 1  #~ modified RTL116
            + y = y + 1
              y.sum().backward()
        """,
        "gates in place": """
              w = torch.ones(4, 2, requires_grad=True)
            - i, f = (w * 2).chunk(2)
            - i.sigmoid_()  #~ modified RTL116
            + i, f = (w * 2).chunk(2)
            + i = i.sigmoid()
              (i * f.tanh()).sum().backward()
        """,
        "an unpacked row": """
              w = torch.ones(2, 3, requires_grad=True)
              mean, scale = w.exp()
            - scale += 1e-3  #~ modified RTL116
            + scale = scale + 1e-3
              (mean / scale).sum().backward()
        """,
        "rows in a loop": """
              w = torch.ones(3, 2, requires_grad=True)
              rows = w.exp()
            - for row in rows:
            -     row /= row.sum()  #~ modified RTL116
            + rows = torch.stack([row / row.sum() for row in rows])
              rows.pow(2).sum().backward()
        """,
        "an item of a row": """
              w = torch.ones(3, 4, requires_grad=True)
              frames, lengths = w * 2, [4, 2, 3]
            - for frame, n in zip(frames, lengths):
            -     frame[n:] = 0.0  #~ modified RTL116
            + for row, (frame, n) in enumerate(zip(frames, lengths)):
            +     frames[row][n:] = 0.0
              frames.pow(2).sum().backward()
        """,
        "an item of a piece": """
              w = torch.ones(2, 3, requires_grad=True)
              first, second = w.exp().split(1)
            + first = first.clone()
            - first[0, 0] = 0.0  #~ modified RTL116
            + first[0, 0] = 0.0
              (first * second).sum().backward()
        """,
    }
    runs = {
        "a hook that was removed": """
            net = torch.nn.Linear(2, 2)
            net.register_full_backward_hook(lambda *_: None).remove()
            y = net(torch.ones(1, 2))
            y += 1
            y.sum().backward()
        """,
        "one view, by its index": """
            w = torch.ones(2, 3, requires_grad=True)
            rows = w * 2
            row = rows[0]
            row += 1
            rows.sum().backward()
        """,
        "pieces that are slices": """
            w = torch.ones(4, requires_grad=True)
            pair = w * 2
            left, right = pair[:2], pair.narrow(0, 2, 2)
            left += 1
            (left + right).sum().backward()
        """,
        "pieces without a graph": """
            x = torch.ones(4)
            left, right = x.chunk(2)
            left += 1
            w = torch.ones(2, requires_grad=True)
            (left * w).sum().backward()
        """,
        "a copy of a piece": """
            w = torch.ones(4, requires_grad=True)
            left, right = (w * 2).chunk(2)
            left = left.clone()
            left += 1
            (left + right).sum().backward()
        """,
    }


def _rows(made: Span, name: str) -> str:
    """The tensor over whose rows a loop goes by this name, if that is what gave the views; else ""."""
    try:
        (loop,) = ast.parse(f"{made.text.rstrip(': ')}: pass").body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(loop, ast.For):
        return ""
    return next((ast.unparse(listed) for target, listed in gone_through(loop) if ast.unparse(target) == name), "")
