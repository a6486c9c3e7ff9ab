"""An editor for tests: pytest-lsp's client, which talks over a pipe to the server that a user would start."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import client_capabilities
from pytest_lsp.client import LanguageClient, make_test_lsp_client

PATIENCE = 30.0
"""Seconds that a test waits for what doesn't come; the machine may be busy."""

NEOVIM, VS_CODE, EMACS = "neovim", "visual-studio-code", "emacs"


class Editor:
    """Documents by their paths below a directory; what is told of each, as it comes."""

    def __init__(self, client: LanguageClient, root: Path, initialized: types.InitializeResult) -> None:
        self.client, self.root, self.initialized = client, root, initialized
        self.told: list[types.PublishDiagnosticsParams] = []
        self.versions: dict[str, int] = {}
        client.protocol.fm.features.pop(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(self._publish)

    @property
    def _publish(self) -> Callable[[types.PublishDiagnosticsParams], None]:
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.told.append(params)

        return publish

    def uri(self, name: str) -> str:
        return name if ":" in name else (self.root / name).as_uri()

    def named(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str, text: str | None = None) -> None:
        uri = self.uri(name)
        self.versions[uri] = 1
        text = (self.root / name).read_bytes().decode() if text is None else text
        item = types.TextDocumentItem(uri, "python", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, *changes: tuple[tuple[int, int], tuple[int, int], str] | str) -> None:
        """Ranges (row and column from 0) with what stands there now, or whole texts."""
        uri = self.uri(name)
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        events: list[types.TextDocumentContentChangeEvent] = []
        for change in changes:
            if isinstance(change, str):
                events.append(types.TextDocumentContentChangeWholeDocument(change))
            else:
                start, end, text = change
                where = types.Range(types.Position(*start), types.Position(*end))
                events.append(types.TextDocumentContentChangePartial(where, text))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, events))

    def save(self, name: str) -> None:
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(self.named(name)))

    def close(self, name: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.named(name)))

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something is so, and fail if it never is."""

        async def wait() -> None:
            while not holds():
                if self.client.error is not None:
                    raise self.client.error
                await asyncio.sleep(0.01)

        await asyncio.wait_for(wait(), PATIENCE)

    def last(self, name: str) -> types.PublishDiagnosticsParams | None:
        """What was told last of a document."""
        return next((each for each in reversed(self.told) if each.uri == self.uri(name)), None)

    async def tried(self, name: str) -> Sequence[types.Diagnostic]:
        """The findings of the newest text once they came with their helps."""
        version = self.versions.get(self.uri(name))

        def is_there() -> bool:
            last = self.last(name)
            return (
                last is not None and last.version == version and all("\nhelp: " in d.message for d in last.diagnostics)
            )

        await self.until(is_there)
        last = self.last(name)
        assert last is not None
        return last.diagnostics

    async def actions(
        self, name: str, at: types.Range, only: Sequence[str] | None = None
    ) -> Sequence[types.CodeAction]:
        context = types.CodeActionContext([], only=only)
        found = await self.client.text_document_code_action_async(types.CodeActionParams(self.named(name), at, context))
        return [each for each in found or () if isinstance(each, types.CodeAction)]

    async def hover(self, name: str, row: int, column: int) -> str:
        params = types.HoverParams(self.named(name), types.Position(row, column))
        found = await self.client.text_document_hover_async(params)
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value


def edited(text: str, edits: Sequence[Any]) -> str:
    """A text after the edits of a client, whose columns count UTF-16 units."""
    rows = text.split("\n")

    def offset(at: types.Position) -> int:
        units = rows[at.line].encode("utf-16-le")[: 2 * at.character] if at.line < len(rows) else b""
        return sum(len(row) + 1 for row in rows[: at.line]) + len(units.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda each: -offset(each.range.start)):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def edit(
    root: Path,
    session: Callable[[Editor], Awaitable[None]],
    client: str = NEOVIM,
    *,
    pulls: bool = False,
    folders: Sequence[Path] = (),
    options: Sequence[str] = (),
    encodings: Sequence[types.PositionEncodingKind] = (),
) -> None:
    """Run a session of an editor with the capabilities of a real one; with `pulls` it asks for diagnostics itself."""

    async def run() -> None:
        lsp = make_test_lsp_client()
        capabilities = client_capabilities(client)
        assert capabilities.text_document is not None and capabilities.workspace is not None
        capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities() if pulls else None
        capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=pulls)
        capabilities.notebook_document = types.NotebookDocumentClientCapabilities(
            types.NotebookDocumentSyncClientCapabilities()
        )
        if encodings:
            capabilities.general = types.GeneralClientCapabilities(position_encodings=encodings)
        await lsp.start_io(sys.executable, "-m", "retainlint", "server", *options)
        around = [types.WorkspaceFolder(each.as_uri(), each.name) for each in folders or (root,)]
        started = await lsp.initialize_session(
            types.InitializeParams(capabilities, root_uri=root.as_uri(), workspace_folders=around)
        )
        assert lsp._server is not None
        try:
            await session(Editor(lsp, root, started))
            await asyncio.wait_for(lsp.shutdown_session(), PATIENCE)
            assert lsp._server.returncode == 0
        finally:
            if lsp._server.returncode is None:
                lsp._server.kill()
            await lsp.stop()  # type: ignore[no-untyped-call]
        assert lsp.error is None

    asyncio.run(run())
