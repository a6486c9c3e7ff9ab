"""The graphs of a running program, recorded in the user's own torch: where each was built, freed, and needed again.

    import retainlint.live

    with retainlint.live.record() as recording:
        train()

An error of autograd's that ends the run carries the story as a note of its own, behind its traceback; on Python 3.10, whose
errors carry no notes, the story is written before it. `recording.stories` has it too. `python -m retainlint.live train.py` does the same for a whole program,
`pytest --retainlint-live` for tests, `%load_ext retainlint.live` brings `%%retainlint_live` to a notebook.

Unlike all else in retainlint this runs inside the program, and needs the torch that the program has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retainlint.live.recorder import Recording

__all__ = ["load_ipython_extension", "record"]


def record() -> Recording:
    """Record what is done to graphs in a `with` block of this thread. Raises ImportError where there is no torch."""
    from retainlint.live.recorder import Recording

    return Recording()


def load_ipython_extension(shell: object) -> None:
    """`%load_ext retainlint.live`: IPython calls it."""
    from retainlint.live.notebook import register

    register(shell)
