"""Handlers that go on expect a failure; those that raise again, or exit, don't."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine import Machine

from retainlint.checking import linter
from retainlint.config import Configs, Settings

PROGRAM = """
import re, sys, os, torch, runner
def says_memory(error):
    return "out of memory" in str(error).lower()
def is_out_of_memory(error):
    return isinstance(error, torch.cuda.OutOfMemoryError) or says_memory(error)
def is_known(error):
    for text in ("second time", "out of memory"):
        if text in str(error):
            return True
    return False
def says_any(texts, error):
    for text in texts:
        if text in str(error):
            return True
    return False
def says(text, error, other="second time"):
    return text in str(error) or other in str(error)
loss = torch.rand(3, requires_grad=True).exp().sum()
loss.backward()
{before}
try:
    loss.backward()
except {kind}:
{body}
"""

GIVES_UP = [
    ("Exception as e", "raise"),
    ("Exception as e", "print(e); raise e"),
    ("Exception as e", "raise ValueError('no') from e"),
    ("Exception", "sys.exit(1)"),
    ("Exception", "sys.exit(-1)"),
    ("Exception as e", "sys.exit(f'failed: {e}')"),
    ("Exception as e", "sys.exit(e)"),
    ("Exception as e", "sys.exit('failed: %s' % e)"),
    ("Exception as e", "raise SystemExit('failed: {}'.format(e)) from e"),
    ("", "os._exit(2)"),
    ("Exception", "exit(1)"),
    ("Exception", "raise SystemExit('no')"),
    ("RuntimeError as e", "if 'out of memory' in str(e): print(e)\n    else: raise"),
    ("RuntimeError as e", "if 'out of memory' not in e.args[0].lower(): raise"),
    ("RuntimeError as e", "if not str(e).startswith('CUDA'): raise"),
    ("RuntimeError as e", "if 'CUDA' in str(e) or 'cuDNN' in str(e): pass\n    else: raise e"),
    ("RuntimeError as e", "if not says_memory(e): raise"),
    ("RuntimeError as e", "if not is_out_of_memory(e) or loss.shape[0] < 2: raise"),
    ("RuntimeError as e", "if isinstance(e, torch.OutOfMemoryError): print(e)\n    else: raise"),
    ("Exception as e", "if isinstance(e, RuntimeError): raise"),
    ("Exception as e", "sys.exit(str(e))"),
    ("RuntimeError as e", "text = f'step 3: {e}'\n    if 'memory' not in text: raise"),
    ("RuntimeError as e", "if 'CUDA' not in 'step %d: %s' % (3, e): raise"),
    ("RuntimeError as e", "if 'CUDA' not in 'step {}: {error}'.format(3, error=e): raise"),
    ("RuntimeError as e", "if re.search('CUDA|out of memory', str(e)) is None: raise"),
    ("Exception as e", "if type(e).__name__ == 'RuntimeError': raise"),
    ("Exception as e", "if type(e) is RuntimeError: raise"),
    ("RuntimeError as e", "if not says_any(['CUDA', 'memory'], e): raise"),
    ("RuntimeError as e", "raise runner.StepFailed(str(e))"),
    ("RuntimeError as e", "if os.getpid() > 1: print(e)\n    else: pass\n    raise"),
    ("RuntimeError as e", "again = os.getpid() > 1 and says_memory(e)\n    if not again: raise"),
    ("RuntimeError", "with torch.no_grad():\n        raise"),
    ("RuntimeError", "raise\nexcept Exception:\n    pass"),
    ("ValueError", "pass"),
]

GOES_ON = [
    ("Exception as e", "print(e)"),
    ("Exception", "sys.exit(0)"),
    ("Exception", "sys.exit()"),
    ("Exception", "sys.exit(code)"),
    ("Exception", "raise SystemExit"),
    ("RuntimeError as e", "if 'second time' in str(e): print(e)\n    else: raise"),
    ("RuntimeError as e", "if is_memory(e): print(e)\n    else: raise"),
    ("RuntimeError as e", "if torch.cuda.is_available(): raise"),
    ("Exception as e", "if isinstance(e, (KeyError, KINDS)): raise"),
    ("Exception as e", "if isinstance(e, KeyError): raise"),
    ("RuntimeError as e", "if not is_known(e): raise"),
    ("RuntimeError as e", "text = f'step 3: {e}'\n    if 'second time' not in text: raise"),
    ("RuntimeError as e", "if not re.search('CUDA|second time', str(e)): raise"),
    ("Exception as e", "if type(e) is ValueError: raise"),
    ("RuntimeError as e", "if not says_any(['CUDA', 'second time'], e): raise"),
    ("RuntimeError as e", "if os.getpid() > 1 and says_memory(e): raise\n    if os.getppid() > 1: raise"),
    ("RuntimeError as e", "if not says('memory', error=e): raise"),
    ("RuntimeError as e", "if not says('memory', e): raise"),
    ("RuntimeError as e", "if os.getpid() > 1 or says_memory(e): pass\n    else: raise"),
    ("ValueError", "raise\nexcept RuntimeError:\n    pass"),
    ("KINDS", "pass"),
    ("Exception as e", "raise unittest.SkipTest('no')"),
    ("Exception", "try:\n        raise\n    except RuntimeError:\n        pass"),
]


def handled(kind: str, body: str, before: str = "") -> str:
    return PROGRAM.format(kind=kind, body="    " + body, before=before).replace("except :", "except:")


@pytest.mark.parametrize(("kind", "body"), GIVES_UP)
def test_a_handler_that_gives_up_expects_nothing(machine: Machine, kind: str, body: str) -> None:
    assert len(machine(handled(kind, body)).incidents) == 1


@pytest.mark.parametrize(("kind", "body"), GOES_ON)
def test_a_handler_that_goes_on_expects_the_failure(machine: Machine, kind: str, body: str) -> None:
    assert len(machine(handled(kind, body)).incidents) == 0


REFUSED = """
import torch
w = torch.ones(3, requires_grad=True)
{made}
try:
    {refused}
except {kind} as e:
    {body}
"""


@pytest.mark.parametrize(("body", "count"), [("raise", 1), ("if 'CUDA' not in str(e): raise", 1), ("print(e)", 0)])
@pytest.mark.parametrize(
    ("made", "refused", "kind"),
    [
        ("x = torch.ones(3, requires_grad=True)", "torch.autograd.grad(w.exp().sum(), x)", "RuntimeError"),
        ("x = w.detach()", "torch.autograd.grad(w.exp().sum(), x)", "RuntimeError"),
        ("x = w.exp()", "torch.optim.SGD([x], lr=0.1)", "ValueError"),
        ("", "w.add_(1)", "RuntimeError"),
        ("a, b = w.exp().unbind()[:2]", "a.add_(1)", "RuntimeError"),
        ("with torch.inference_mode():\n    x = torch.ones(3)", "x.add_(1)", "RuntimeError"),
    ],
)
def test_what_torch_refuses_of_a_call_has_handlers_too(
    machine: Machine, made: str, refused: str, kind: str, body: str, count: int
) -> None:
    text = REFUSED.format(made=made, refused=refused, kind=kind, body=body)
    assert len(machine(text).incidents) == count


ENDINGS = """
import os, sys, torch
def train(w):
    loss, failed = (w * w).sum(), False
    for epoch in range(3):
        try:
            loss.backward()
        except RuntimeError as error:
            print(error)
            failed = True
            break
    return 1 if failed else 0
code = train(torch.ones(3, requires_grad=True))
"""


@pytest.mark.parametrize(
    "end",
    [
        "sys.exit(code)",
        "if code:\n    sys.exit(f'failed: {code} of {torch.rand(1)}')",
        "raise SystemExit(code)",
        "if code:\n    raise ValueError('a step failed')",
        "assert not code, 'a step failed'",
        "if code:\n    os.abort()",
    ],
)
def test_a_failure_by_which_a_program_ends_with_a_code_is_told(machine: Machine, end: str) -> None:
    assert len(machine(ENDINGS + end).incidents) == 1


@pytest.mark.parametrize(
    "end", ["sys.exit(0 if code else 1)", "sys.exit()", "try:\n    sys.exit(code)\nexcept SystemExit:\n    pass"]
)
def test_a_failure_behind_which_a_program_ends_well_is_expected(machine: Machine, end: str) -> None:
    assert len(machine(ENDINGS + end).incidents) == 0


DEALT_WITH = """
import torch
h = torch.rand(3, requires_grad=True).exp()
class Guard:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        return {said}
for _ in range(3):
    with Guard():
        h.sum().backward()
"""


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("error is not None and 'second time' in str(error)", 0),
        ("error is not None and 'out of memory' in str(error)", 1),
        ("kind is not None and issubclass(kind, RuntimeError)", 0),
        ("kind is ValueError", 1),
        ("deals_with(error)", 1),  # nobody sees that it does
        ("None", 1),
    ],
)
def test_what_leaves_a_context_is_told_of_the_failure(machine: Machine, said: str, count: int) -> None:
    assert len(machine(DEALT_WITH.format(said=said)).incidents) == count


NESTED = """
import torch
class Failed(Exception): pass
loss = torch.rand(3, requires_grad=True).exp().sum()
loss.backward()
def step():
    try:
        loss.backward()
    except RuntimeError as e:
        raise {inner} from e
try:
    step()
except {outer}:
    {body}
"""


@pytest.mark.parametrize(
    ("inner", "outer", "body", "count"),
    [
        ("Failed", "Failed", "pass", 0),
        ("Failed", "Exception", "pass", 0),
        ("Failed", "KeyError", "pass", 1),
        ("ValueError", "KeyError", "pass", 1),
        ("Failed", "Failed", "raise", 1),
        ("Failed", "Exception", "print(); raise SystemExit(3)", 1),
    ],
)
def test_what_is_raised_instead_may_be_waited_for(
    machine: Machine, inner: str, outer: str, body: str, count: int
) -> None:
    text = NESTED.format(inner=inner, outer=outer, body=body)
    assert len(machine(text).incidents) == count


ENDED = """
import torch

class Box:
    def __init__(self, items):
        self.weight = torch.ones(3, requires_grad=True)
        while True:
            {body}

    def fit(self):
        loss = self.weight.square().sum()
        loss.backward()
        loss.backward()
"""
LEAVES = "try:\n                items.pop()\n            except IndexError:\n                break"


@pytest.mark.parametrize(("body", "lines"), [(LEAVES, [16]), ("items.pop()", [])])
def test_a_loop_that_only_an_exception_ends_goes_on_behind_its_handler(
    machine: Machine, body: str, lines: list[int]
) -> None:
    """Else nothing is made, and nothing can be asked of it."""
    assert machine(ENDED.format(body=body)).lines == lines


def test_a_class_of_the_program_that_is_no_error_takes_no_refusal(machine: Machine) -> None:
    text = """
    import torch

    class StopTraining(Exception):
        pass

    w = torch.rand(3, requires_grad=True)
    h = w.exp()
    h.sum().backward()
    try:
        h.sum().backward()
    except {}:
        pass
    """
    assert machine(text.format("StopTraining")).lines == [11]
    assert machine(text.format("IGNORED")).lines == []


def test_a_handler_that_waits_for_what_was_raised_waits_for_nothing_else(machine: Machine) -> None:
    """Asking an unknown configuration for `strict` might raise as well, before anything is detached."""
    text = """
    import torch

    class Stop(Exception):
        pass

    def train(cfg, xs):
        w = torch.rand(3, requires_grad=True)
        h = torch.zeros(3)
        for x in xs:
            h = h * w + x
            h.sum().backward()
            try:
                if cfg.strict:
                    h = h.detach()
                    raise Stop
                h = h.detach()
            except {}:
                print("stopped")
    """
    assert machine(text.format("Stop")).lines == []
    assert machine(text.format("KeyError")).lines == [12]


def test_what_has_no_handler_waits_for_nothing(machine: Machine) -> None:
    text = "import torch\nw = torch.ones(3, requires_grad=True)\nh = w.exp()\ntry:\n    int('x')\n    h.sum().backward()\nfinally:\n    h.sum().backward()\n"
    assert machine(text).lines == [8]


def test_a_question_that_takes_too_much_is_left_open(machine: Machine) -> None:
    asks = "def ask(e):\n    return " + " or ".join(["ask(e)"] * 200) + "\n"
    assert machine(handled("RuntimeError as e", "if not ask(e): raise", asks)).incidents == ()


TOOLS = """\
def is_oom(e):
    return "out of memory" in str(e)
def walk(loss, n):
    for _ in range(n):
        try:
            loss.backward()
        except RuntimeError as e:
            if not is_oom(e):
                raise
"""
MAIN = """\
import torch
from tools import walk
w = torch.rand(3, requires_grad=True)
walk(w.exp().sum(), 3)
"""


def test_what_a_handler_of_another_module_asks_is_looked_for_there(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "main.py").write_text(MAIN, encoding="utf-8")
    (found,) = linter.check([str(tmp_path / "main.py")], Configs.alike(Settings())).diagnostics
    assert found.code == "RTL101"


WHOLE = """
import torch
def train(net):
    for _ in range(10):
        loss = net(torch.randn(4, 3)).pow(2).mean()
        loss.backward()
        loss.backward()
def train_anew(net):
    net(torch.randn(4, 3)).sum().backward()
def main():
    net = torch.nn.Linear(3, 3)
    {body}
{start}
"""
GUARDED = "try:\n        {work}\n    except {kind} as error:\n        print('failed', error)"
STARTED = "if __name__ == '__main__':\n    main()"


@pytest.mark.parametrize(
    ("work", "kind", "behind", "start", "fails"),
    [
        ("train(net)", "Exception", "", STARTED, True),
        ("return train(net)", "BaseException", "    return 0.0", "import sys\nsys.exit(main())", True),
        ("with torch.enable_grad(): train(net)", "Exception", "", "main()", True),
        ("train(net)", "Exception", "    raise SystemExit(0)", STARTED, True),
        ("train(net)", "Exception", "", "import sys\nmain()\nsys.exit(0)", True),
        ("train(net)", "RuntimeError", "", STARTED, False),  # it is waited for by its name
        ("train(net)", "Exception", "    print('behind it')", STARTED, False),
        ("train(net)", "Exception", "", "main()\nprint('and so on')", False),
        ("train(net)", "Exception", "", "for _ in range(3):\n    main()", False),
        ("train(net)", "Exception", "        train_anew(net)", STARTED, False),
        ("train(net)", "Exception", "        return 'failed'", "print(main())", False),
    ],
)
def test_what_only_tells_of_a_programs_whole_work_waits_for_nothing(
    machine: Machine, work: str, kind: str, behind: str, start: str, fails: bool
) -> None:
    body = GUARDED.format(work=work, kind=kind) + f"\n{behind}" * bool(behind)
    assert machine(WHOLE.format(body=body, start=start)).lines == [7] * fails


def test_where_the_backward_pass_stands_in_the_try_it_may_be_there_to_show_that_it_fails(machine: Machine) -> None:
    text = """
import torch
loss = torch.rand(3, requires_grad=True).exp().sum()
try:
    loss.backward()
    loss.backward()
except Exception as error:
    print(error)
"""
    assert machine(text).lines == []


CARRIES = """
import torch
from torch import nn
from tanks import Tank
def leg(tank, xs):
    for x in xs:
        if not torch.isfinite(x).all():
            tank.trace = None
            raise ValueError("bad sensor")
        tank(x)
    {cut}tank.trace.sum().backward()
tank = Tank()
for _ in range(4):
    try:
        leg(tank, torch.rand(4, 2, 3))
    except ValueError as error:
        print(error)
"""

TANKS = """
import torch
from torch import nn
class Tank(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.trace = nn.Linear(6, 3), None
    def forward(self, x):
        if self.trace is None:
            self.trace = torch.zeros(x.shape[0], 3)
        self.trace = torch.tanh(self.mix(torch.cat([x, self.trace], dim=1)))
"""


@pytest.mark.parametrize(("cut", "lines"), [("", [11]), ("tank.trace = tank.trace.detach().requires_grad_(); ", [])])
def test_a_module_that_a_try_is_the_first_to_ask_for_raises_nothing_there(
    machine: Machine, cut: str, lines: list[int]
) -> None:
    assert machine(CARRIES.format(cut=cut), tanks=TANKS).lines == lines
