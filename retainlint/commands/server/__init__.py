"""The language server: findings, their stories and their fixes for editors, over standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retainlint.commands import CommandError

if TYPE_CHECKING:
    from retainlint.config import Requested


def serve(requested: Requested, cached: bool) -> int:
    """Until the client is done. Raises CommandError where pygls is missing."""
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError as error:
        raise CommandError("the language server needs pygls 2: pip install 'retainlint[server]'") from error
    from retainlint.commands.server.language_server import serve as run

    run(requested, cached)
    return 0
