"""A generator that waits where it can't be gone on with leaves the one who asked it for an item as it was."""

from __future__ import annotations

from machine import Machine


def test_who_asks_goes_on_in_its_own_frame(machine: Machine) -> None:
    text = """
        import torch
        w = torch.ones(3, requires_grad=True)
        def inner():
            for x in (1.0, 2.0, 3.0):
                yield x
        def outer():
            for x in inner():
                yield x
        def run():
            h = w.exp()
            items = outer()
            next(items)
            next(items)
            h.sum().backward()
            h.sum().backward()
        run()
    """
    assert machine(text).lines == [16]
