"""`sorted`, `sort`, `min`, `max` and `remove` of what is known."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = """\
import operator
import torch
h = torch.ones(3, requires_grad=True).exp()
d = {"a": 3, "c": 5, "b": 9}
names = ["a", "b"]
rows = [("x", 2), ("y", 1)]
"""


@pytest.mark.parametrize(
    "known",
    [
        "sorted(d)[-1] == 'c'",
        "sorted(d, key=d.get)[-1] == 'b'",
        "sorted(d, key=lambda name: -d[name])[-1] == 'a'",
        "sorted(d, reverse=True)[-1] == 'a'",
        "sorted(rows, key=operator.itemgetter(1))[0][0] == 'y'",
        "sorted(rows)[0][0] == 'x'",
        "max(d, key=d.get) == 'b'",
        "min(d, key=d.get) == 'a'",
        "max(d.values()) == 9",
        "max(names) == 'b'",
        "names.sort(reverse=True) is None and names[0] == 'b'",
        "names.remove('a') is None and len(names) == 1",
        "sorted([3, 1, 2])[0] == 1",
    ],
)
def test_what_is_known_is_ordered_as_python_does(machine: Machine, known: str) -> None:
    text = HEAD + f"if not ({known}):\n    h.sum().backward()\nh.sum().backward()\n"
    assert machine(text).lines == []
    assert machine(text.replace("not (", "(")).incident.conditions == ()


@pytest.mark.parametrize(
    "unknown",
    ["sorted(d, key=f)[0] == 'a'", "sorted([1, f()])[0] == 1", "max(d, key=f) == 'a'", "sorted(['a', 1])[0] == 1"],
)
def test_what_is_not_known_stays_so(machine: Machine, unknown: str) -> None:
    assert len(machine(HEAD + f"if {unknown}:\n    h.sum().backward()\nh.sum().backward()\n").lines) <= 1


KEPT = """\
import torch
w = torch.ones(3, requires_grad=True)
top = []
for step in range(6):
    out = (w * w * torch.randn(3)).sum()
    top.append(({key}, out{detached}))
    {sort}
    (out ** 2 + sum(each for _, each in {chosen})).backward()
"""
SORTS = {
    "top.sort(key=lambda each: each[0])": "top[:1]",
    "top.sort(key=lambda each: each[0]) or 0": "top[-1:]",
    "top.sort(key=lambda each: -each[0])": "top[0:2]",
    "top.sort(key=lambda each: each[0], reverse=True); top = top[:1]": "top",
    "top.sort(key=lambda each: each[0], reverse=True); del top[1:]": "top",
    "top = sorted(top, key=lambda each: each[0])": "top[-1:]",
}


@pytest.mark.parametrize("sort", SORTS)
def test_where_data_decide_the_order_an_older_item_may_come_first_or_last(machine: Machine, sort: str) -> None:
    text = KEPT.replace("{sort}", sort).replace("{chosen}", SORTS[sort])
    assert machine(text.format(key="out.item()", detached="")).lines == [8]
    assert machine(text.format(key="out.item()", detached=".detach()")).lines == []


def test_what_nobody_knows_stays_as_it_came(machine: Machine) -> None:
    text = KEPT.replace("{sort}", "top.sort(key=lambda each: each[0])").replace("{chosen}", "top[-1:]")
    assert machine("import time\n" + text.format(key="time.time()", detached="")).lines == []
