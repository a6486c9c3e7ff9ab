"""RTL901: a comment that suppresses nothing."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Help, Label, RemoveSuppression, Severity
from retainlint.rules.rule import Rule
from retainlint.text.source import Span


class UnusedSuppression(Rule):
    """A comment suppresses a rule that finds nothing there.

    A `# noqa: RTL101` or `# retainlint: ignore[backward-in-loop]` that outlived its finding hides the next one that
    comes to its line. So does one that names a rule that doesn't exist, and a comment for the whole file that doesn't
    stand on a row of its own.

    Only what is ours is judged: in `# noqa: F401, RTL101` the second code, and a bare `# noqa` never. A rule that is
    off, and a file that couldn't be followed to its end, leave it open whether a comment is of use; then nothing is
    said, nor of a file that calls no backward, which isn't parsed at all. A finding that only another module's call
    leads to isn't seen when this file is checked alone: name RTL901 in such a comment too, and it is never judged.
    """

    code = "RTL901"
    severity = Severity.WARNING

    def tell(
        self,
        comment: Span,
        edit: Span,
        left: str,
        *,
        useless: tuple[str, ...] = (),
        unknown: tuple[str, ...] = (),
        misplaced: bool = False,
        near: str | None = None,
    ) -> Diagnostic:
        """The finding for a comment in which some rules are useless, or are no rules, or which is so as a whole.

        `near` is the rule that the first unknown word was probably meant to be; `left` is what `edit` becomes.
        """
        label, message = "", ""
        help = "remove the comment" if not left or left == "#" else f"leave `{left}`"
        if misplaced:
            message, label = (
                "this comment suppresses nothing: one for a file stands on a row of its own",
                "code before it",
            )
            help = "move it to a row of its own"
        elif unknown:
            words = _listed(unknown)
            message, label = f"{words} {'is no rule' if len(unknown) == 1 else 'are no rules'}", "suppresses nothing"
            help = f"did you mean `{near}`?" if near else help
        elif useless:
            message, label = f"{_listed(useless)} found nothing here", "suppresses nothing"
        else:
            message, label = "no rule found anything here", "suppresses nothing"
        labels = (Label(_trimmed(comment), label, primary=True),)
        cures = () if misplaced or near else (RemoveSuppression(edit, left),)
        return Diagnostic(self.code, self.name, self.severity, message, labels, helps=(Help(help, cures),))


def _listed(words: tuple[str, ...]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _trimmed(span: Span) -> Span:
    return Span(span.source, span.start, span.start + max(len(span.text.rstrip()), 1))
