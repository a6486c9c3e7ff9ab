"""Real texts broken: tokens and rows dropped, doubled, swapped; encodings, row ends and characters that few files have."""

from __future__ import annotations

import codecs
import random
import re
from collections.abc import Callable

from benchmarks.fuzz.syntax import EXPRESSIONS, STATEMENTS

_TOKEN = re.compile(rb"[A-Za-z_]\w*|\d[\w.]*|\"\"\"|'''|\*\*|//|->|:=|[-+*/%@&|^<>=!]=|\s+|.", re.DOTALL)

ODD = (
    b"\0", b"\t", b"\f", b"\v", b"\r", b"\r\n", b"\n", b"\\\n", b"\\", b"\x1a", b"\xef\xbb\xbf", b"\xc3", b"\xff",
    "\u2028".encode(), "\u00a0".encode(), "\ufeff".encode(), "\u202e".encode(), "\U0001f600".encode(), "ﬁ".encode(),
    b"#", b'"', b"'", b'"""', b"'''", b"(", b")", b"[", b"]", b"{", b"}", b":", b";", b",", b".", b"=", b":=", b"->",
    b"*", b"**", b"@", b"...", b"lambda", b"await", b"yield", b"yield from", b"async", b"not", b"if", b"else", b"for",
    b"in", b"del", b"global", b"nonlocal", b"return", b"match", b"case", b"type", b"_", b"None", b"f'{", b"}'", b"t'{x}'",
    b"0", b"-1", b"1e999", b"1e-999", b"0x" + b"f" * 40, b"10**9", b"1_0", b"1j", b"True", b"NotImplemented", b"__class__",
    b"super()", b"self", b"# type: ignore", b"# noqa: RTL101", b"# retainlint: ignore[", b"%%time\n", b"%matplotlib inline",
    b"!ls", b"?", b"$", b"`", b">>> ",
)  # fmt: skip
"""What a token may become, or be followed by."""

CODINGS = (
    "utf-8", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-7", "koi8-r", "gbk", "big5", "shift_jis",
    "euc-jp", "iso2022_jp", "cp037", "utf-8-sig", "ascii", "idna", "punycode", "unicode_escape", "raw_unicode_escape",
    "rot13", "hex", "base64", "zlib", "mbcs", "undefined", "no-such", "utf8mb4", "u8", "\u00e9",
)  # fmt: skip


def mutated(dice: random.Random, data: bytes) -> bytes:
    """One to some changes of tokens or rows; mostly few, so that much of it stays a program."""
    for _ in range(min(int(dice.expovariate(0.5)) + 1, 12)):
        data = dice.choice((_tokens, _tokens, _rows, _columns))(dice, data)
    return data


def _tokens(dice: random.Random, data: bytes) -> bytes:
    tokens = _TOKEN.findall(data)
    if not tokens:
        return data
    at, other = dice.randrange(len(tokens)), dice.randrange(len(tokens))
    deed = dice.randrange(6)
    if deed == 0:
        del tokens[at]
    elif deed == 1:
        tokens[at] *= dice.choice((2, 2, 3, 50))
    elif deed == 2:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif deed == 3:
        tokens[at] = tokens[other]
    elif deed == 4:
        tokens[at] = dice.choice(ODD)
    else:
        tokens.insert(at, dice.choice(ODD))
    return b"".join(tokens)


def _rows(dice: random.Random, data: bytes) -> bytes:
    rows = data.splitlines(keepends=True)
    if not rows:
        return data
    at, other = dice.randrange(len(rows)), dice.randrange(len(rows))
    few = slice(at, at + dice.choice((1, 1, 2, 8)))
    deed = dice.randrange(5)
    if deed == 0:
        del rows[few]
    elif deed == 1:
        rows[at:at] = rows[few] * dice.choice((1, 1, 2, 20))
    elif deed == 2:
        rows[at], rows[other] = rows[other], rows[at]
    elif deed == 3:
        rows[other:other] = rows[few]
    else:
        rows.insert(at, _unusual(dice, rows[at]))
    return b"".join(rows)


def _columns(dice: random.Random, data: bytes) -> bytes:
    """An indentation changed, or the text cut off."""
    rows = data.splitlines(keepends=True)
    if not rows:
        return data
    at = dice.randrange(len(rows))
    if dice.random() < 0.2:
        return b"".join(rows[: at + 1])[: -dice.randrange(1, 20)]
    rows[at] = dice.choice((b" ", b"    ", b"\t", b"", b"\f", b"        ")) + rows[at].lstrip(b" ")
    return b"".join(rows)


def _unusual(dice: random.Random, row: bytes) -> bytes:
    """A statement of unusual syntax, indented as a row is."""
    margin = row[: len(row) - len(row.lstrip(b" \t"))]
    text = dice.choice((*STATEMENTS, *(f"x = {each}" for each in EXPRESSIONS))).encode()
    return b"".join(margin + each + b"\n" for each in text.split(b"\n"))


def spliced(dice: random.Random, one: bytes, two: bytes) -> bytes:
    """Rows of one text among those of another, behind each other or one in the other's blocks."""
    first, second = one.splitlines(keepends=True), two.splitlines(keepends=True)
    at = dice.randrange(len(first) + 1)
    piece = second[: dice.randrange(len(second) + 1)][-60:]
    margin = b"" if not first or dice.random() < 0.5 else first[at - 1][: -len(first[at - 1].lstrip(b" ")) or None]
    extra = [_unusual(dice, margin + b"x") for _ in range(dice.randrange(4))]
    return b"".join([*first[:at], *(margin + row for row in piece), *extra, *first[at:]])


def swollen(dice: random.Random, data: bytes) -> bytes:
    """A statement said very often, or an expression within itself."""
    rows = data.splitlines(keepends=True)
    at = dice.randrange(len(rows))
    row, times = rows[at], dice.choice((30, 200, 1_000))
    if dice.random() < 0.6:
        rows[at:at] = [row] * times
        return b"".join(rows)
    head, sign, tail = row.rstrip().partition(b" = ")
    margin = row[: len(row) - len(row.lstrip())]
    if sign:
        deeper = dice.choice((b"(" * 80 + tail + b")" * 80, b"[" * 80 + tail + b"]" * 80, b" + ".join([tail] * times)))
        rows[at] = head + sign + deeper + b"\n"
    else:
        rows[at] = (
            b"".join(margin + b" " * depth + b"if x:\n" for depth in range(min(times, 60)))
            + margin
            + b" " * 60
            + row.lstrip()
        )
    return b"".join(rows)


def encoded(dice: random.Random, data: bytes) -> bytes:
    """The same text as other bytes, or with bytes that belong to none."""
    deed: Callable[[random.Random, bytes], bytes] = dice.choice(
        (_ends, _ends, _cookie, _cookie, _sprinkled, _tabs, _wide)
    )
    return deed(dice, data)


def _ends(dice: random.Random, data: bytes) -> bytes:
    end = dice.choice((b"\r\n", b"\r", b"\n\r", b"\f\n", b"\v\n", b"\r\r\n", "\u2028".encode(), "\x85".encode()))
    rows = data.split(b"\n")
    every = dice.random() < 0.5
    return b"".join(row + (end if every or dice.random() < 0.1 else b"\n") for row in rows)


def _cookie(dice: random.Random, data: bytes) -> bytes:
    coding = dice.choice(CODINGS)
    head = f"# -*- coding: {coding} -*-\n"
    if dice.random() < 0.5:
        head = "\n" + head
    text = head + data.decode("utf-8", "replace")
    try:
        known = codecs.lookup(coding)
        made = text.encode(coding, "replace") if known._is_text_encoding and dice.random() < 0.7 else text.encode()
    except (LookupError, ValueError, UnicodeError):
        made = text.encode("utf-8", "replace")
    marks = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF8 * 2, b"", b"", b"", b"")
    return dice.choice(marks) + made


def _sprinkled(dice: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(dice.choice((1, 1, 3, 30))):
        at = dice.randrange(len(made) + 1)
        made[at:at] = dice.choice(ODD) if dice.random() < 0.5 else bytes([dice.randrange(256)])
    return bytes(made)


def _tabs(dice: random.Random, data: bytes) -> bytes:
    with_tabs = re.sub(rb"(?m)^( {4}|\t)+", lambda found: b"\t" * (len(found[0]) // 4), data)
    return (
        with_tabs if dice.random() < 0.5 else data.replace(b"    ", dice.choice((b"\t", b" \t", b"\t ", b"\f    ")), 5)
    )


def _wide(dice: random.Random, data: bytes) -> bytes:
    """Names in letters that are the same name to Python, and those that aren't."""
    wide = {"loss": "ｌｏｓｓ", "x": "ｘ", "self": "ſelf", "backward": "ｂackward", "i": "𝒾", "torch": "𝓽orch"}
    name = dice.choice(list(wide))
    return re.sub(rb"\b%s\b" % name.encode(), wide[name].encode(), data)
