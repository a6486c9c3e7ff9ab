"""The language server, asked by a client over a pipe as an editor asks it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands.server.editor import EMACS, NEOVIM, VS_CODE, Editor, edit, edited
from lsprotocol import types

CARRIED = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 3)
h = model(x)
for step in range(3):
    loss = (h * h).mean()
    loss.backward()
    opt.step()
"""

CURED = CARRIED.replace(
    "h = model(x)\nfor step in range(3):\n", "for step in range(3):\n    h = model(x)\n    opt.zero_grad()\n"
)

NEEDLESS = """\
import torch

w = torch.ones(3, requires_grad=True)
for step in range(3):
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    w.grad = None
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "experiment"\n')
    (tmp_path / "train.py").write_text(CARRIED)
    return tmp_path


@pytest.mark.parametrize("client", [NEOVIM, VS_CODE, EMACS])
def test_a_finding_is_told_with_its_story(project: Path, client: str) -> None:
    async def session(editor: Editor) -> None:
        editor.open("train.py")
        (found,) = await editor.tried("train.py")
        assert (found.code, found.source, found.severity) == ("RTL101", "retainlint", types.DiagnosticSeverity.Error)
        assert found.range == types.Range(types.Position(9, 4), types.Position(9, 19))
        assert "built once, before this loop\nhelp: compute `h` inside the loop" in found.message
        story = [(each.location.range.start.line, each.message) for each in found.related_information or ()]
        assert story == [
            (6, "built once, here"),
            (8, "reached again through `h`"),
            (9, "iteration 1 frees it; iteration 2 needs it again"),
        ]
        assert found.code_description is not None
        page = Path(found.code_description.href.removeprefix("file://"))
        await editor.until(page.is_file)
        assert page.read_text().startswith("# RTL101 backward-in-loop")

    edit(project, session, client)


def test_a_change_is_checked_and_the_same_found_as_by_check(project: Path) -> None:
    """The text counts, not what is on the disk."""

    async def session(editor: Editor) -> None:
        editor.open("train.py")
        await editor.tried("train.py")
        editor.change("train.py", CURED)
        assert await editor.tried("train.py") == ()
        editor.change("train.py", ((0, 0), (0, 0), "# one\n"), ((1, 0), (1, 6), "import"), ((0, 0), (1, 0), ""))
        assert await editor.tried("train.py") == ()
        editor.change("train.py", CARRIED)
        (found,) = await editor.tried("train.py")
        done = subprocess.run(
            [sys.executable, "-m", "retainlint", "check", "train.py", "--output-format", "json"],
            cwd=project,
            capture_output=True,
            text=True,
        )
        (row,) = json.loads(done.stdout)
        assert found.message.startswith(row["message"]) and found.range.start.line + 1 == row["location"]["row"]
        editor.close("train.py")
        await editor.until(lambda: (last := editor.last("train.py")) is not None and not last.diagnostics)

    edit(project, session)


def test_only_the_newest_text_is_told_of(project: Path) -> None:
    """Each change stops the check of the text before it: what is told in the end is of the last one, and of its version."""

    async def session(editor: Editor) -> None:
        editor.open("train.py")
        await editor.tried("train.py")
        for number in range(30):
            editor.change("train.py", ((0, 0), (0, 0), f"# {number}\n"))
        (found,) = await editor.tried("train.py")
        assert found.range.start.line == 39
        told = [each.version or 0 for each in editor.told]
        assert len(told) < 30 and told[-1] == 31 and told == sorted(told)

    edit(project, session)


def test_checks_that_were_stopped_leave_nothing_behind(project: Path) -> None:
    """After many checks stopped at whatever instruction, the same is found as before."""

    async def session(editor: Editor) -> None:
        import asyncio

        editor.open("train.py")
        (before,) = await editor.tried("train.py")
        for number in range(60):
            editor.change("train.py", CARRIED + f"# {number}\n")
            await asyncio.sleep(0.04 + 0.002 * number)
        (after,) = await editor.tried("train.py")
        assert after == before
        assert not editor.client.messages and not editor.client.log_messages

    edit(project, session)


def test_diagnostics_are_pulled_where_the_client_asks_for_them(project: Path) -> None:
    async def session(editor: Editor) -> None:
        provider = editor.initialized.capabilities.diagnostic_provider
        assert provider is not None and provider.inter_file_dependencies
        editor.open("train.py")
        params = types.DocumentDiagnosticParams(editor.named("train.py"))
        items: list[types.Diagnostic] = []
        result = None
        while not (items and "\nhelp: " in items[0].message):
            report = await editor.client.text_document_diagnostic_async(params)
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            items, result = [*report.items], report.result_id
            assert [each.code for each in items] == ["RTL101"]
            if "\nhelp: " not in items[0].message:
                await editor.until(lambda: editor.client.diagnostic_refresh_count)
        params.previous_result_id = result
        unchanged = await editor.client.text_document_diagnostic_async(params)
        assert isinstance(unchanged, types.RelatedUnchangedDocumentDiagnosticReport)
        assert not editor.told

    edit(project, session, pulls=True)


def test_quick_fixes_and_their_outcome(project: Path) -> None:
    """An unsafe fix says so; a suppression stands on the row, gives a reason, and works."""

    async def session(editor: Editor) -> None:
        editor.open("train.py")
        (found,) = await editor.tried("train.py")
        cure, suppress = await editor.actions("train.py", found.range)
        assert cure.title == "Compute `h` inside the loop (unsafe: it may change what is computed)"
        assert cure.is_preferred is False and cure.diagnostics is not None and cure.diagnostics[0].code == "RTL101"
        assert cure.edit is not None and cure.edit.document_changes is not None
        (change,) = cure.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit) and change.text_document.version == 1
        editor.change("train.py", edited(CARRIED, change.edits))
        assert await editor.tried("train.py") == ()
        assert suppress.title == "Suppress RTL101 on this line, with a reason"
        assert suppress.edit is not None and suppress.edit.document_changes is not None
        (change,) = suppress.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        suppressed = edited(CARRIED, change.edits)
        assert "loss.backward()  # retainlint: ignore[RTL101] why this is meant\n" in suppressed
        editor.change("train.py", suppressed)
        assert await editor.tried("train.py") == ()
        assert await editor.actions("train.py", found.range) == []

    edit(project, session)


@pytest.mark.parametrize("client", [VS_CODE, EMACS])
def test_all_safe_fixes_at_once(project: Path, client: str) -> None:
    (project / "needless.py").write_text(NEEDLESS)

    async def session(editor: Editor) -> None:
        editor.open("needless.py")
        (found,) = await editor.tried("needless.py")
        assert found.code == "RTL201"
        first = (await editor.actions("needless.py", found.range))[0]
        assert first.is_preferred and "unsafe" not in first.title
        whole = types.Range(types.Position(0, 0), types.Position(7, 0))
        (fix_all,) = await editor.actions("needless.py", whole, ["source.fixAll"])
        assert fix_all.kind == "source.fixAll.retainlint"
        if fix_all.edit is None:
            fix_all = await editor.client.code_action_resolve_async(fix_all)
        assert fix_all.edit is not None and fix_all.edit.document_changes is not None
        (change,) = fix_all.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert edited(NEEDLESS, change.edits) == NEEDLESS.replace("retain_graph=True", "")

    edit(project, session, client)


def test_hover_tells_the_story(project: Path) -> None:
    async def session(editor: Editor) -> None:
        editor.open("train.py")
        await editor.tried("train.py")
        text = await editor.hover("train.py", 9, 10)
        assert text.startswith("**RTL101** backward-in-loop: ")
        assert [*re.findall(r"^\d\. line (\d+)", text, re.MULTILINE)] == ["7", "9", "10"]
        assert "`h = model(x)`" in text and "compute `h` inside the loop" in text
        assert await editor.hover("train.py", 0, 0) == ""

    edit(project, session)


@pytest.mark.parametrize(
    ("encodings", "agreed", "column"),
    [
        ([types.PositionEncodingKind.Utf16], "utf-16", 19),
        ([types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16], "utf-8", 22),
        ([types.PositionEncodingKind.Utf32], "utf-32", 18),
    ],
)
def test_columns_count_what_was_agreed_on(
    project: Path, encodings: list[types.PositionEncodingKind], agreed: str, column: int
) -> None:
    """Also where a form feed stands, which ends no row, and rows end in a carriage return."""
    text = CARRIED.replace("    loss.backward()", "    note = 'é😀 '; loss.backward()").replace("\n", "\r\n")
    text = text.replace("import torch\r\n", "import torch\r\n\x0c# a new page\r\n", 1)

    async def session(editor: Editor) -> None:
        assert editor.initialized.capabilities.position_encoding == agreed
        editor.open("train.py", text)
        (found,) = await editor.tried("train.py")
        assert (found.range.start.line, found.range.start.character) == (10, column)
        editor.change("train.py", ((10, column), (10, column + 4), "loss"), ((1, 0), (1, 0), "x = 1\r\n"))
        (found,) = await editor.tried("train.py")
        assert (found.range.start.line, found.range.start.character) == (11, column)

    edit(project, session, encodings=encodings)


def test_other_modules_count_as_the_editor_holds_them(project: Path) -> None:
    """A finding that another file brings comes and goes with it, saved or not."""
    (project / "losses.py").write_text("def total(h):\n    return (h * h).mean()\n")
    (project / "train.py").write_text(
        CARRIED.replace("h = model(x)\n", "")
        .replace("loss = (h * h).mean()", "loss = total(model(x))")
        .replace("import torch\n", "import torch\nfrom losses import total\n", 1)
    )

    async def session(editor: Editor) -> None:
        editor.open("train.py")
        editor.open("losses.py")
        await editor.until(
            lambda: (
                (last := editor.last("train.py")) is not None
                and not any(d.code.startswith("RTL1") for d in last.diagnostics if isinstance(d.code, str))
            )
        )
        editor.change("losses.py", "kept = []\ndef total(h):\n    kept.append((h * h).mean())\n    return sum(kept)\n")
        await editor.until(
            lambda: (
                (last := editor.last("train.py")) is not None
                and any(d.code in ("RTL101", "RTL104") for d in last.diagnostics)
            )
        )
        editor.close("losses.py")
        await editor.until(
            lambda: (
                (last := editor.last("train.py")) is not None
                and not any(d.code in ("RTL101", "RTL104") for d in last.diagnostics)
            )
        )

    edit(project, session)


def test_several_roots_each_with_its_own_settings(tmp_path: Path) -> None:
    for name, settings in (("strict", ""), ("lenient", '[tool.retainlint]\nignore = ["RTL101"]\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyproject.toml").write_text(settings)
        (tmp_path / name / "train.py").write_text(CARRIED)

    async def session(editor: Editor) -> None:
        editor.open("strict/train.py")
        editor.open("lenient/train.py")
        assert [each.code for each in await editor.tried("strict/train.py")] == ["RTL101"]
        assert await editor.tried("lenient/train.py") == ()
        (tmp_path / "lenient" / "pyproject.toml").write_text("")
        changed = types.FileEvent(editor.uri("lenient/pyproject.toml"), types.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
        await editor.until(lambda: (last := editor.last("lenient/train.py")) is not None and last.diagnostics)

    edit(tmp_path, session, folders=[tmp_path / "strict", tmp_path / "lenient"])


def test_settings_that_a_program_loads_are_changed(project: Path) -> None:
    text = (
        "import json, torch\nhp = json.load(open('hp.json'))\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"
        "loss.backward(retain_graph=hp['keep'])\nloss.backward()\n"
    )
    (project / "train.py").write_text(text)
    (project / "hp.json").write_text('{"keep": true}')

    async def session(editor: Editor) -> None:
        editor.open("train.py")
        assert await editor.tried("train.py") == ()
        (project / "hp.json").write_text('{"keep": false}')
        changed = types.FileEvent(editor.uri("hp.json"), types.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
        await editor.until(lambda: (last := editor.last("train.py")) is not None and last.diagnostics)

    edit(project, session)


def test_settings_that_mean_nothing_are_told_once(project: Path) -> None:
    (project / "retainlint.toml").write_text('select = ["RTL999"]\n')

    async def session(editor: Editor) -> None:
        editor.open("train.py")
        await editor.until(lambda: editor.client.messages)
        editor.change("train.py", CURED)
        await editor.until(lambda: len(editor.client.log_messages) > 1)
        (message,) = editor.client.messages
        assert "retainlint.toml:1" in message.message and "RTL999" in message.message
        (project / "retainlint.toml").write_text("")
        editor.change("train.py", CARRIED)
        assert [each.code for each in await editor.tried("train.py")] == ["RTL101"]

    edit(project, session)


def test_the_cells_of_a_notebook(project: Path) -> None:
    cells = [
        "# Prose\n",
        "%matplotlib inline\n" + CARRIED.partition("for")[0],
        "for" + CARRIED.partition("for")[2].rstrip(),
    ]

    def item(number: int, text: str) -> types.TextDocumentItem:
        return types.TextDocumentItem(
            f"vscode-notebook-cell:/work/a.ipynb#{number}", "markdown" if number == 0 else "python", 1, text
        )

    async def session(editor: Editor) -> None:
        items = [item(number, text) for number, text in enumerate(cells)]
        kinds = [types.NotebookCellKind.Markup, types.NotebookCellKind.Code, types.NotebookCellKind.Code]
        notebook = types.NotebookDocument(
            editor.uri("a.ipynb"),
            "jupyter-notebook",
            1,
            [types.NotebookCell(kind, each.uri) for kind, each in zip(kinds, items, strict=True)],
        )
        editor.versions.update({each.uri: 1 for each in items})
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
        (found,) = await editor.tried(items[2].uri)
        assert found.range == types.Range(types.Position(2, 4), types.Position(2, 19))
        assert [(each.location.uri, each.location.range.start.line) for each in found.related_information or ()] == [
            (items[1].uri, 7),
            (items[2].uri, 1),
            (items[2].uri, 2),
        ]
        assert "line 2" in await editor.hover(items[2].uri, 2, 6)
        suppress = (await editor.actions(items[2].uri, found.range))[-1]
        assert suppress.edit is not None and suppress.edit.document_changes is not None
        (change,) = suppress.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit) and change.text_document.uri == items[2].uri
        assert edited(cells[2], change.edits).splitlines()[2].endswith("# retainlint: ignore[RTL101] why this is meant")

        new = item(3, "x = 1\n")
        structure = types.NotebookDocumentCellChangeStructure(
            types.NotebookCellArrayChange(1, 0, [types.NotebookCell(types.NotebookCellKind.Code, new.uri)]), [new]
        )
        where = types.Range(types.Position(0, 0), types.Position(0, 0))
        text = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(uri=items[2].uri, version=2),
            [types.TextDocumentContentChangePartial(where, "# é\n")],
        )
        editor.versions[items[2].uri] = 2
        changes = types.NotebookDocumentCellChanges(structure, None, [text])
        editor.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(2, editor.uri("a.ipynb")),
                types.NotebookDocumentChangeEvent(None, changes),
            )
        )
        (found,) = await editor.tried(items[2].uri)
        assert found.range.start.line == 3

    edit(project, session)


def test_a_text_that_was_never_written(project: Path) -> None:
    async def session(editor: Editor) -> None:
        editor.open("untitled:Untitled-1", CARRIED)
        (found,) = await editor.tried("untitled:Untitled-1")
        assert found.code == "RTL101"
        assert {each.location.uri for each in found.related_information or ()} == {"untitled:Untitled-1"}

    edit(project, session)


def test_a_text_that_is_no_python_is_no_obstacle(project: Path) -> None:
    async def session(editor: Editor) -> None:
        editor.open("train.py", CARRIED + "for\n")
        await editor.until(
            lambda: (last := editor.last("train.py")) is not None and [d.code for d in last.diagnostics] == ["RTL900"]
        )
        editor.change("train.py", CARRIED)
        (found,) = await editor.tried("train.py")
        assert found.code == "RTL101"

    edit(project, session)


def test_results_are_those_of_the_projects_cache(project: Path) -> None:
    """What the command line has found is used, and what the server finds is kept for it."""
    subprocess.run([sys.executable, "-m", "retainlint", "check"], cwd=project, capture_output=True)
    packs = sorted(path.name for path in (project / ".retainlint_cache").iterdir())

    async def session(editor: Editor) -> None:
        editor.open("train.py")
        (found,) = await editor.tried("train.py")
        assert found.code == "RTL101"
        assert len(editor.told) == 1, "it was checked again"
        for number in range(20):
            editor.change("train.py", CARRIED + f"# {number}\n")
            await editor.tried("train.py")

    edit(project, session)
    assert sorted(path.name for path in (project / ".retainlint_cache").iterdir()) == packs
    lowered = [*(project / ".retainlint_cache").glob("*.lowered/*.ir")]
    assert len(lowered) <= 1, "texts that were never saved are kept"


def test_nothing_of_the_project_is_run(project: Path) -> None:
    for name in ("click", "libcst", "retainlint", "torch", "signal", "struct", "sitecustomize"):
        (project / f"{name}.py").write_text("raise SystemExit('this was run')\n")

    async def session(editor: Editor) -> None:
        editor.open("train.py")
        (found,) = await editor.tried("train.py")
        assert found.code == "RTL101"

    edit(project, session)


def test_without_pygls_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ImportError\n")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from retainlint.cli import main; main(['server'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: the language server needs pygls 2: pip install 'retainlint[server]'\n"
