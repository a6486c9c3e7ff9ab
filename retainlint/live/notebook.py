"""`%%retainlint_live`: a cell of a notebook, recorded."""

from __future__ import annotations

from typing import Any


def register(shell: Any) -> None:
    """Give an IPython shell the magic."""
    shell.register_magic_function(_magic(shell), "cell", "retainlint_live")


def _magic(shell: Any) -> Any:
    def retainlint_live(line: str, cell: str) -> None:
        """Run the cell, and tell of its graphs if one fails."""
        from retainlint.live.recorder import Recording

        with Recording() as recording:
            result = shell.run_cell(cell)
        if not result.success and not hasattr(result.error_in_exec, "__notes__"):
            for story in recording.stories:
                print(story.text())

    return retainlint_live
