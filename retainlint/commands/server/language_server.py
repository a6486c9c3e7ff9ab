"""What a client may ask, and what it is told: the protocol's requests and notifications, each led to the root it concerns."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from retainlint.commands.server.checks import Beginning
from retainlint.commands.server.documents import Columns, Notebook, Text, place_of
from retainlint.commands.server.rendering import Document, Rendering, hover
from retainlint.commands.server.roots import Open, Root
from retainlint.commands.server.worker import Worker
from retainlint.config import Requested
from retainlint.config.reading import CONFIGURATIONS
from retainlint.project.discovery import MARKERS
from retainlint.startup.version import __version__
from retainlint.text.files import ancestors
from retainlint.text.source import Source

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.retainlint"

WATCHED = ("**/*.py", "**/*.json", "**/*.toml", *(f"**/{name}" for name in CONFIGURATIONS))

NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook(types.NotebookDocumentFilterNotebookType("jupyter-notebook"))]
)
"""With all of their cells, so that one has the number that it has in the file."""


class Server:
    """The roots of a workspace, and the client that holds their documents."""

    def __init__(self, requested: Requested, cached: bool) -> None:
        self._requested, self._cached = requested, cached
        self.client = LanguageServer(
            "retainlint", __version__, types.TextDocumentSyncKind.Incremental, NOTEBOOKS, max_workers=2
        )
        self._folders: list[str] = []
        self._roots: dict[str, Root] = {}
        self._pages = ""
        self._columns = Columns()
        self._pulls = self._refreshes = self._is_done = False
        self._told: set[str] = set()
        self._answered: dict[str, str] = {}  # what was last pulled of a text, by its URI
        self._register()

    def serve(self) -> None:
        """Until the client says that it is done, or is gone. Whatever is printed goes to standard error."""
        self._pages = tempfile.mkdtemp(prefix="retainlint-")
        asked, answered = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        try:
            self.client.start_io(asked, answered)
        finally:
            self._end()

    def _end(self) -> None:
        for root in self._roots.values():
            root.shut()
        shutil.rmtree(self._pages, ignore_errors=True)

    def _exit(self, _params: None) -> None:
        """At once: pygls would wait for what the client says next, and it has said its last."""
        self._end()
        os._exit(0 if self._is_done else 1)

    def _register(self) -> None:
        """Tell pygls what is answered, and how that is announced."""
        actions = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True)
        pulled = types.DiagnosticOptions(
            inter_file_dependencies=True, workspace_diagnostics=False, identifier="retainlint"
        )
        features: list[tuple[str, Any, Any]] = [
            (types.INITIALIZE, self._initialize, None),
            (types.INITIALIZED, self._initialized, None),
            (types.SHUTDOWN, self._shutdown, None),
            (types.EXIT, self._exit, None),
            (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self._change_folders, None),
            (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._change_files, None),
            (types.TEXT_DOCUMENT_DID_OPEN, self._open, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self._change, None),
            (types.TEXT_DOCUMENT_DID_SAVE, self._save, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, self._close, None),
            (types.NOTEBOOK_DOCUMENT_DID_OPEN, self._open_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_CHANGE, self._change_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_SAVE, self._save_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_CLOSE, self._close_notebook, None),
            (types.TEXT_DOCUMENT_DIAGNOSTIC, self._pull, pulled),
            (types.TEXT_DOCUMENT_CODE_ACTION, self._actions, actions),
            (types.CODE_ACTION_RESOLVE, self._resolve, None),
            (types.TEXT_DOCUMENT_HOVER, self._hover, None),
        ]
        for name, handler, options in features:
            self.client.feature(name, options)(_function(handler))

    # -- the workspace ---------------------------------------------------------------------------------------------

    def _initialize(self, params: types.InitializeParams) -> None:
        """The folders, or what older clients call the root."""
        folders = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        paths = [uris.to_fs_path(uri) for uri in folders if uri] or [params.root_path]
        self._folders = [os.path.abspath(path) for path in paths if path]
        self._columns = Columns(str(getattr(self._encoding, "value", self._encoding)))
        capabilities = params.capabilities
        pulls = capabilities.text_document is not None and capabilities.text_document.diagnostic is not None
        refresh = capabilities.workspace.diagnostics if capabilities.workspace is not None else None
        self._pulls = pulls
        self._refreshes = pulls and refresh is not None and bool(refresh.refresh_support)

    @property
    def _encoding(self) -> Any:
        return self.client.workspace.position_encoding or types.PositionEncodingKind.Utf16

    async def _initialized(self, _params: types.InitializedParams) -> None:
        """Ask to be told of files that change without being open, and be ready for the first that is opened."""
        for folder in filter(os.path.isdir, self._folders):
            self._root(os.path.join(folder, "")).warm_up()
        workspace = self.client.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is not None and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("watched", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            with contextlib.suppress(Exception):  # a client that refuses tells of what is saved, still
                await self.client.client_register_capability_async(types.RegistrationParams([registration]))

    def _shutdown(self, _params: None) -> None:
        self._is_done = True
        for root in self._roots.values():
            root.shut()

    def _change_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        removed = {uris.to_fs_path(folder.uri) for folder in params.event.removed}
        added = [uris.to_fs_path(folder.uri) for folder in params.event.added]
        self._folders = [path for path in self._folders if path not in removed]
        self._folders += [os.path.abspath(path) for path in added if path]
        for root in [*self._roots.values()]:  # the documents that belong elsewhere now
            for one in [each for each in root.documents.values() if self._directory(each.document.place) != root.place]:
                root.close(one.document.uri)
                self._root(one.document.place).open(one.document)

    def _change_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        places = [place_of(change.uri, "") for change in params.changes]
        for place in places:
            for root in self._roots.values():
                root.touched("" if os.path.basename(place) in CONFIGURATIONS else place)

    def _directory(self, place: str) -> str:
        """The root of a file: the innermost folder around it, else its project's root, else where it lies."""
        above = [*ancestors(place)]
        around = [each for each in above if each in self._folders]
        marked = [each for each in above if any(os.path.exists(os.path.join(each, mark)) for mark in MARKERS)]
        found = [*around, *marked, *above, os.getcwd()]
        return next(each for each in found if os.path.isdir(each))

    def _root(self, place: str) -> Root:
        directory = self._directory(place)
        if directory not in self._roots:
            worker = Worker(directory, Beginning(self._requested, self._cached, self._pages))
            self._roots[directory] = Root(directory, worker, self._publish, self._tell)
        return self._roots[directory]

    def _tell(self, text: str) -> None:
        """What kept something from being checked goes to the client's log, and the first time before its user."""
        self.client.window_log_message(types.LogMessageParams(types.MessageType.Error, text))
        if text not in self._told:
            self._told.add(text)
            row = text.strip().rpartition("\n")[2]
            self.client.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"retainlint: {row}"))

    # -- documents -------------------------------------------------------------------------------------------------

    def _open(self, params: types.DidOpenTextDocumentParams) -> None:
        if any(isinstance(one.document, Notebook) for _, one in self._holding(params.text_document.uri)):
            return  # a cell, which is told of with its notebook
        place = place_of(params.text_document.uri, self._first)
        self._root(place).open(Text(params.text_document, place))

    def _change(self, params: types.DidChangeTextDocumentParams) -> None:
        for root, one in self._holding(params.text_document.uri):
            assert isinstance(one.document, Text)
            one.document.text = self._columns.changed(one.document.text, params.content_changes)
            one.document.version = params.text_document.version
            root.changed(one.document.uri)

    def _save(self, params: types.DidSaveTextDocumentParams) -> None:
        self._saved(params.text_document.uri)

    def _close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._closed(params.text_document.uri)

    def _open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        place = place_of(params.notebook_document.uri, self._first)
        if not place.endswith(".ipynb"):
            place += ".ipynb"
        self._root(place).open(Notebook(params, place))

    def _change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        for root, one in self._holding(params.notebook_document.uri):
            assert isinstance(one.document, Notebook)
            before = one.document.uris
            one.document.change(params, self._columns)
            for uri in set(before) - set(one.document.uris):
                self._send(uri, [], None)
            root.changed(one.document.uri)

    def _save_notebook(self, params: types.DidSaveNotebookDocumentParams) -> None:
        self._saved(params.notebook_document.uri)

    def _close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self._closed(params.notebook_document.uri)

    @property
    def _first(self) -> str:
        """Where a text without a file is taken to be."""
        return self._folders[0] if self._folders else os.getcwd()

    def _holding(self, uri: str) -> Iterator[tuple[Root, Open]]:
        """The document of a URI, or the notebook with a cell of that URI; none for what was never opened."""
        for root in self._roots.values():
            for one in [*root.documents.values()]:
                if uri == one.document.uri or uri in one.document.uris:
                    yield root, one
                    return

    def _saved(self, uri: str) -> None:
        for root, one in self._holding(uri):
            root.changed(one.document.uri, pause=0)
        for root in self._roots.values():
            root.touched(place_of(uri, self._first))

    def _closed(self, uri: str) -> None:
        for root, one in self._holding(uri):
            root.close(uri)
            for each in one.document.uris:
                self._send(each, [], None)
                self._answered.pop(each, None)

    # -- what is told ----------------------------------------------------------------------------------------------

    def _rendering(self, root: Root, document: Document) -> Rendering:
        return Rendering(document, root.place, self._columns, self._pages)

    def _publish(self, root: Root, one: Open) -> None:
        """A client that pulls the diagnostics of plain texts is told where those that it has aren't so any more."""
        document = one.document
        by_uri = self._rendering(root, document).diagnostics(one.found)
        if self._pulls and isinstance(document, Text):
            before = self._answered.get(document.uri)
            if self._refreshes and before is not None and before != _result_id(by_uri[document.uri]):
                self.client.workspace_diagnostic_refresh(None)
            return
        for uri in document.uris:
            self._send(uri, by_uri[uri], document.version_of(uri))

    def _send(self, uri: str, found: list[types.Diagnostic], version: int | None) -> None:
        self.client.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    async def _pull(self, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        """The diagnostics of the newest text; nothing of a cell, of which the client is told without asking."""
        uri = params.text_document.uri
        items: list[types.Diagnostic] = []
        for root, one in self._holding(uri):
            if isinstance(one.document, Text) and await root.is_checked(uri, tried=not self._refreshes):
                items = self._rendering(root, one.document).diagnostics(one.found)[uri]
                self._answered[uri] = _result_id(items)
        result = _result_id(items)
        if params.previous_result_id == result:
            return types.RelatedUnchangedDocumentDiagnosticReport(result)
        return types.RelatedFullDocumentDiagnosticReport(items, result_id=result)

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        uri, at = params.text_document.uri, params.position
        for root, one in self._holding(uri):
            if not await root.is_checked(one.document.uri):
                return None
            rendering = self._rendering(root, one.document)
            found = [each for each in one.found if rendering.holds(each, uri, types.Range(at, at))]
            if found:
                where = rendering.diagnostic(found[0]).range
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, hover(found)), where)
        return None

    # -- what is done ----------------------------------------------------------------------------------------------

    async def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, only = params.text_document.uri, params.context.only
        actions: list[types.CodeAction] = []
        for root, one in self._holding(uri):
            if not await root.is_checked(one.document.uri):
                return []
            rendering = self._rendering(root, one.document)
            if _is_wanted(types.CodeActionKind.QuickFix, only):
                touched = [each for each in one.found if rendering.holds(each, uri, params.range)]
                actions += [action for each in touched for action in rendering.actions(each)]
            if only and _is_wanted(FIX_ALL, only):
                fix_all = types.CodeAction("Fix all that is safe (retainlint)", FIX_ALL, data={"uri": uri})
                if self._resolves or (await self._resolve(fix_all)).edit is not None:
                    actions.append(fix_all)
        return actions

    @property
    def _resolves(self) -> bool:
        """Whether the client asks for an action's edit when it is chosen."""
        document = self.client.client_capabilities.text_document
        actions = document.code_action if document is not None else None
        return (
            actions is not None and actions.resolve_support is not None and "edit" in actions.resolve_support.properties
        )

    async def _resolve(self, action: types.CodeAction) -> types.CodeAction:
        uri = action.data.get("uri") if isinstance(action.data, dict) else getattr(action.data, "uri", None)
        for root, one in self._holding(uri or ""):
            document = one.document
            before, data = document.data(), await root.fixed(document.uri)
            if data is not None and before == document.data():
                rendering = self._rendering(root, document)
                action.edit = rendering.versioned(dict(self._differing(document, before, data)))
        return action

    def _differing(self, document: Document, before: bytes, after: bytes) -> Iterator[tuple[str, list[types.TextEdit]]]:
        """What turns one text of a document into another, row by row; in a notebook cell by cell."""
        if isinstance(document, Text):
            encoded = Source.decode(document.place, after).text
            yield document.uri, [*self._edits(document.text, encoded)]
            return
        from retainlint.text import notebook

        for cell, text in zip(document.cells, notebook.texts(after), strict=True):
            if cell.text != text:
                yield cell.uri, [*self._edits(cell.text, text)]

    def _edits(self, before: str, after: str) -> Iterator[types.TextEdit]:
        old, new = Source("", before), Source("", after)
        old_rows, new_rows = _rows(old), _rows(new)
        matched = SequenceMatcher(a=old_rows, b=new_rows, autojunk=False)
        for tag, start, end, new_start, new_end in matched.get_opcodes():
            if tag != "equal":
                ends = (old.row_starts[at] if at < len(old_rows) else len(before) for at in (start, end))
                where = types.Range(*(self._columns.position(old, at) for at in ends))
                yield types.TextEdit(where, "".join(new_rows[new_start:new_end]))


def _function(method: Any) -> Any:
    """A method as a function, on which pygls can leave its marks."""
    if asyncio.iscoroutinefunction(method):

        async def answer(params: Any) -> Any:
            return await method(params)

        return answer

    def handle(params: Any) -> Any:
        return method(params)

    return handle


def _rows(source: Source) -> list[str]:
    starts = [*source.row_starts, len(source.text)]
    return [source.text[one:two] for one, two in zip(starts, starts[1:], strict=False) if one < two]


def _is_wanted(kind: str, only: Iterable[str] | None) -> bool:
    """Whether a client that asks only for some kinds of actions asks for one."""
    name = str(getattr(kind, "value", kind))
    words = [str(getattr(each, "value", each)) for each in only or ()]
    return not words or any(name == word or name.startswith(f"{word}.") for word in words)


def _result_id(items: Iterable[types.Diagnostic]) -> str:
    """The same for the same diagnostics."""
    from hashlib import sha256

    return sha256(repr([*items]).encode("utf-8", "replace")).hexdigest()


def serve(requested: Requested, cached: bool) -> None:
    """Serve one client over standard input and output."""
    Server(requested, cached).serve()
