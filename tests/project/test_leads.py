"""Which calls of a file lead to walks in other modules: what leads there, and what only seems to."""

from __future__ import annotations

import pytest

from retainlint.project.call_index import CallIndex
from retainlint.project.import_resolution import Modules
from retainlint.text.files import Held
from retainlint.text.prefilter import may_lead_to_backward

HEAD = "import torch\noptimizer = torch.optim.SGD([], 1)\n"
BACKWARD = "def update(optimizer, loss):\n    loss.backward()\n"
STEPPER = "class Stepper:\n    def update(self, loss):\n        loss.backward()\n    def look(self):\n        pass\n"


def leads(text: str, receiver: str, name: str, **modules: str) -> bool:
    data = (HEAD + text).encode()
    files = {f"{module.replace('__', '/')}.py": other.encode() for module, other in modules.items()}
    return CallIndex(Modules("agent.py", Held({**files, "agent.py": data})), data).leads(receiver, name)


@pytest.mark.parametrize(
    ("text", "receiver", "name"),
    [
        ("from steps import update\ndef learn(): update(1)\n", "", "update"),
        ("from steps import look, \\\n    update\ndef learn(): update(1)\n", "", "update"),
        ("from steps import (\n    update as walk,\n)\ndef learn(): walk(1)\n", "", "walk"),
        ("from steps import *\ndef learn(): update(1)\n", "", "update"),
        ("import steps\ndef learn(): steps.update(1)\n", "steps", "update"),
        ("import steps as s\ndef learn(): s.update(1)\n", "s", "update"),
        ("from again import update\ndef learn(): update(1)\n", "", "update"),
        ("from again import further\ndef learn(): further(1)\n", "", "further"),
        ("from objects import Stepper\nclass A(Stepper):\n    def learn(self): self.update(1)\n", "self", "update"),
        ("from objects import Other\nclass A(Other):\n    def learn(self): self.more(1)\n", "self", "more"),
        ("import objects\nclass A(objects.Stepper):\n    def learn(self): super().update(1)\n", ")", "update"),
        ("from objects import Other\ndef learn(): Other().more(1)\n", "other", "more"),
        ("from objects import Made\ndef learn(): Made(1)\n", "", "Made"),
        ("from objects import Within\ndef learn():\n    with Within(): pass\n", "", "Within"),
    ],
)
def test_what_leads_to_a_walk(text: str, receiver: str, name: str) -> None:
    objects = (
        STEPPER
        + "class Other(Stepper):\n    def more(self):\n        self.update(1)\n"
        + "class Made:\n    def __init__(self, loss):\n        loss.backward()\n"
        + "class Within:\n    def __exit__(self, *error):\n        self.loss.backward()\n"
    )
    again = "from steps import update\ndef further(x):\n    return update(None, x)\n"
    assert leads(text, receiver, name, steps=BACKWARD, again=again, objects=objects)


@pytest.mark.parametrize(
    ("text", "receiver", "name"),
    [
        ("from steps import look\ndef learn(): look(1)\n", "", "look"),
        ("def update(x): pass\ndef learn(): update(1)\n", "", "update"),
        ("from steps import update\ndef learn(d): d.update(1)\n", "d", "update"),
        ("from objects import Stepper\ndef learn(s): Stepper().update(1)\n", "s", "update"),  # it may be a dict's
        ("from objects import Stepper\nclass A(Stepper):\n    def learn(self): self.look(1)\n", "self", "look"),
        ("from elsewhere import update\ndef learn(): update(1)\n", "", "update"),
        ("from circle import go\ndef learn(): go(1)\n", "", "go"),
    ],
)
def test_what_only_seems_to(text: str, receiver: str, name: str) -> None:
    steps = "def look(x):\n    '''x.backward()'''\n    return x  # backward()\n" + BACKWARD
    circle = "def go(x):\n    return back(x)\ndef back(x):\n    return go(x)\n"
    assert not leads(text, receiver, name, steps=steps, objects=STEPPER, circle=circle)


def test_a_module_is_run_for_the_walks_that_its_functions_call() -> None:
    text = (HEAD + "from steps import update\ndef learn(loss):\n    update(optimizer, loss)\n").encode()
    assert CallIndex(Modules("agent.py", Held({"steps.py": BACKWARD.encode(), "agent.py": text})), text).starts_backward
    assert not CallIndex(
        Modules("agent.py", Held({"steps.py": b"def update(o, l): pass\n", "agent.py": text})), text
    ).starts_backward


def test_the_answer_depends_on_what_it_looked_at() -> None:
    """The text that was read is among the lookups: a result that is kept is not used when it has changed."""
    text = (HEAD + "from steps import update\ndef learn(loss):\n    update(optimizer, loss)\n").encode()
    modules = Modules("agent.py", Held({"steps.py": BACKWARD.encode(), "agent.py": text}))
    assert CallIndex(modules, text).starts_backward
    assert [len(digest or "") for place, digest in modules.lookups.items() if place.endswith("steps.py")] == [64]


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("import torch\ndef f(optimizer): pass\n", True),
        ("import torch\nfrom torch.optim import Adam\ndef f(): pass\n", True),
        ("import torch\ndef f(): self.q_optim.step()\n", True),
        ("import torch\ndef f(): return 'optimal'\n", False),
        ("import torch\noptimizer = 1\n", False),
        ("import numpy\ndef f(optimizer): pass\n", False),
    ],
)
def test_only_what_speaks_of_optimisers_is_looked_at(text: str, may: bool) -> None:
    assert may_lead_to_backward(text.encode()) == may


def test_a_module_is_run_for_what_its_classes_inherit() -> None:
    """It says nothing of a backward pass, nor calls what leads to one."""
    text = (HEAD + "from steps import Base\nclass Heir(Base):\n    def loss(self):\n        return 1\n").encode()
    base = "class Base:\n    def fit(self):\n        self.loss().{}()\n"
    for method in ("backward", "forward"):
        held = Held({"steps.py": base.format(method).encode(), "agent.py": text})
        assert CallIndex(Modules("agent.py", held), text).starts_backward == (method == "backward")


TRAINER = "class Trainer(Base):\n    def step(self, x):\n        x.backward()\n"
FIT = "class Base:\n    def fit(self, xs):\n        for x in xs: self.step(x)\n"


def test_a_base_leads_to_what_its_heir_has_on_an_object_that_is_made_where_it_is_called() -> None:
    """`fit` is a common name: it tells something of what is seen being made."""
    trainer = "from base import Base\n" + TRAINER
    text = "from trainer import Trainer\ndef main():\n    {made}\n    one.fit([])\n"
    for made, expected in (("one = Trainer()", True), ("one = other()", False)):
        assert leads(text.format(made=made), "one", "fit", trainer=trainer, base=FIT) == expected


def test_a_base_leads_to_what_it_calls_of_an_object_that_its_heir_makes() -> None:
    text = (
        HEAD
        + "from base import Base\nfrom calls import Watch\nclass Heir(Base):\n    def watched(self): return [Watch()]\n"
    )
    calls = "class Watch:\n    def update(self, loss):\n        loss.{}()\n"
    base = b"class Base:\n    def step(self, loss):\n        for one in self.watch: one.update(loss)\n"
    for method in ("backward", "item"):
        held = Held({"base.py": base, "calls.py": calls.format(method).encode(), "agent.py": text.encode()})
        assert CallIndex(Modules("agent.py", held), text.encode()).starts_backward == (method == "backward")


def test_a_method_leads_to_what_it_calls_of_an_object_that_it_is_given() -> None:
    """Of a name that few methods have: nobody sees what the object is."""
    trainer = "from calls import Watch\nclass Trainer:\n    def learn(self, x):\n        for each in self.watches: each.{}(x)\n"
    calls = "class Watch:\n    def seen(self, x):\n        x.backward()\n    def shown(self, x):\n        pass\n"
    text = "from trainer import Trainer\ndef main(x):\n    one = Trainer()\n    one.learn(x)\n"
    for called, expected in (("seen", True), ("shown", False)):
        assert leads(text, "one", "learn", trainer=trainer.format(called), calls=calls) == expected


def test_a_name_is_no_further_away_for_the_modules_that_hand_it_on() -> None:
    hops = {f"hop{number}": f"from hop{number + 1} import update\n" for number in range(6)}
    text = "from hop0 import update\ndef learn(): update(1)\n"
    assert leads(text, "", "update", **hops, hop6=BACKWARD)


def test_what_an_heir_does_by_its_base_is_not_its_own() -> None:
    trainer = "from base import Base\nclass Trainer(Base):\n    def learn(self, x):\n        super().learn(x)\n"
    base = "class Base:\n    def learn(self, x):\n        x.{}()\n"
    text = "from trainer import Trainer\ndef main(x):\n    one = Trainer()\n    one.learn(x)\n"
    for method in ("backward", "item"):
        found = leads(text, "one", "learn", trainer=trainer, base=base.format(method))
        assert found == (method == "backward")


REGISTRIES = [
    "STAGES = {}\ndef stage(name):\n    def keep(function):\n        STAGES[name] = function\n        return function\n    return keep\n",
    "STAGES = []\ndef stage(name):\n    return lambda function: STAGES.append(function)\n",
    "class Table:\n    def register(self, name):\n        def keep(function):\n            self.known[name] = function\n            return function\n"
    "        return keep\nSTAGES = Table()\n",
]


@pytest.mark.parametrize("table", REGISTRIES)
def test_what_a_decorator_keeps_is_reached_by_its_table(table: str) -> None:
    """`STAGES[name](...)` in a script names no function of the module that holds the walk."""
    decorator = "STAGES.register" if "class" in table else "stage"
    walk = f"\n@{decorator}('walk')\ndef walked(loss):\n    loss.backward()\n"
    script = f"{HEAD}from steps import STAGES\nfor _ in range(3):\n    STAGES['walk'](1)\n".encode()

    def starts(text: str) -> bool:
        return CallIndex(
            Modules("main.py", Held({"steps.py": text.encode(), "main.py": script})), script
        ).starts_backward

    assert starts(table + walk)
    assert not starts(table + walk.replace(f"@{decorator}('walk')\n", ""))
