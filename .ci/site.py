"""What the site's builder is told beyond mkdocs.yml: pages from outside of docs/, the pages of the rules, and links to code."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from retainlint.commands.explain import explain

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """A row of the navigation for each rule."""
    rules = sorted(path.stem for path in (ROOT / "docs" / "rules").glob("RTL*.md"))
    rows = next(each["Rules"] for each in config["nav"] if "Rules" in each)
    rows[rows.index("RULES") :] = [{code: f"rules/{code}.md"} for code in rules]
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages outside of docs/ stand in the site where they stand in the repository; the README is its first page."""
    docs = files.get_file_from_path("README.md")
    if docs is not None:
        files.remove(docs)
    wanted = ["README.md", *(path for path in _paths(config["nav"]) if path != "index.md" and _is_outside(path))]
    for name in wanted:
        shown = "index.md" if name == "README.md" else name
        files.append(File.generated(config, shown, content=(ROOT / name).read_text(encoding="utf-8")))
    for path in sorted((ROOT / "docs" / "rules").glob("RTL*.md")):
        drawn = io.StringIO()
        explain(path.stem, drawn, "html")
        files.append(File.generated(config, f"rules/{path.stem}/graphs.html", content=drawn.getvalue()))
    return files


def _paths(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [path for each in (nav.values() if isinstance(nav, dict) else nav) for path in _paths(each)]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """A link by the repository's paths as one by the site's; to what isn't in the site, its text alone."""
    own = page.file.src_uri
    real = "README.md" if own == "index.md" else own if _is_outside(own) else f"docs/{own}"

    def led(found: re.Match[str]) -> str:
        text, target, heading = found[1], found[2], found[3] or ""
        there = os.path.normpath(os.path.join(os.path.dirname(real), target))
        shown = {"README.md": "index.md", "docs/README.md": "index.md"}.get(there, there.removeprefix("docs/"))
        if files.get_file_from_path(shown) is None:
            return text if (ROOT / there).exists() else found[0]
        return f"[{text}]({os.path.relpath(shown, os.path.dirname(own) or '.')}{heading})"

    drawn = (
        f"\n[Step through the graphs of these examples]({page.file.name}/graphs.html)\n"
        if re.match(r"rules/RTL\d", own)
        else ""
    )
    return LINK.sub(led, markdown) + drawn


def _is_outside(name: str) -> bool:
    return not (ROOT / "docs" / name).is_file()
