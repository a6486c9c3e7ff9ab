"""First looks: `python -m benchmarks.firstlook export | look | judge | figures`; README.md tells how a round goes."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.firstlook import looking, snapshots, table


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.command == "export":
        snapshots.export(asked.git, asked.out)
    elif asked.command == "look":
        if asked.out.exists():
            parser.error(f"{asked.out} is there already: a first look is taken once")
        _look(asked)
    elif asked.command == "judge":
        _judge(asked)
    else:
        looks, findings = table.read(asked.table)
        if asked.to_judge:
            print("\n".join(table.to_judge(findings)))
        else:
            print("\n".join(table.figures(looks, findings)))
        if asked.keep:
            table.write(asked.keep, looks, table.without_words(findings))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.firstlook", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="write the text files of git directories as trees")
    export.add_argument("git", type=Path, nargs="+", metavar="GITDIR")
    export.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    look = commands.add_parser("look", help="run the linter once on each tree of a folder")
    look.add_argument("folder", type=Path)
    look.add_argument("--out", type=Path, required=True, metavar="TABLE.jsonl")
    look.add_argument("--only", type=Path, metavar="NAMES", help="a file with the trees' names")
    look.add_argument("--limit", type=float, default=300.0, help="seconds a repository (default: %(default)s)")
    look.add_argument("--extend-select", action="append", default=[], metavar="RULES")
    judge = commands.add_parser("judge", help="say of a finding whether it is right")
    judge.add_argument("table", type=Path, metavar="TABLE.jsonl")
    judge.add_argument("number", type=int)
    judge.add_argument("verdict", choices=table.VERDICTS)
    judge.add_argument("reason")
    judge.add_argument("--date", default=datetime.date.today().isoformat())
    figures = commands.add_parser("figures", help="what the table comes to")
    figures.add_argument("table", type=Path, metavar="TABLE.jsonl")
    figures.add_argument("--to-judge", action="store_true", help="list what nobody judged instead")
    figures.add_argument("--keep", type=Path, metavar="FILE", help="write the table without the messages")
    return parser


def _look(asked: argparse.Namespace) -> None:
    commits = snapshots.known_commits(asked.folder)
    names = asked.only.read_text(encoding="utf-8").split() if asked.only else []
    looks, findings = [], []
    for tree in looking.trees(asked.folder, names):
        commit = commits.get(tree.name, "")
        one, several = looking.look(tree, tree.name.replace("+", "/"), commit, asked.limit, asked.extend_select)
        looks.append(one)
        findings += several
        table.write(asked.out, looks, findings)
        told = f"{one.repository}: {one.files} files, {one.seconds} s, {len(several)} findings {one.trouble}"
        print(told, file=sys.stderr, flush=True)


def _judge(asked: argparse.Namespace) -> None:
    looks, findings = table.read(asked.table)
    table.write(asked.table, looks, table.judged(findings, asked.number, asked.verdict, asked.reason, asked.date))


if __name__ == "__main__":
    sys.exit(main())
