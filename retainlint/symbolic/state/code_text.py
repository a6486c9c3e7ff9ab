"""What the texts of the program's functions say: told by their characters, since the bodies of most are not parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from retainlint import ir
from retainlint.symbolic.state import limits
from retainlint.text.source import Source

FOREIGN = frozenset(
    """mxnet paddle paddlepaddle tinygrad micrograd chainer jax flax tensorflow keras minitorch mindspore jittor megengine
    nnabla cntk theano autograd dezero numpy_ml picograd nanograd needle mygrad norse_np drjit mitsuba taichi warp tf2jax
    cupy numpy oneflow singa plaidml caffe2 mlx""".split()
)

_ENGINES = FOREIGN - {"numpy", "cupy", "numpy_ml", "jax", "flax", "tensorflow", "keras", "taichi", "warp"}

_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)(?:[ \t]*,[ \t]*([\w., \t]+))?", re.MULTILINE)

_TORCH = re.compile(
    r"torch|lightning|accelerate|transformers|timm|ignite|deepspeed|fastai|diffusers|monai|mmcv|mmengine"
)


def is_foreign(path: str) -> bool:
    """Whether a thing comes from such a library."""
    return path.partition(".")[0] in FOREIGN


@lru_cache(maxsize=limits.REMEMBERED_SOURCES)
def speaks_another(source: Source) -> bool:
    """Whether a file imports such a library and nothing of torch: what it walks, and we can't see, is not torch's."""
    found: set[str] = set()
    for first, more in _IMPORT.findall(source.text):
        found |= {part.strip().partition(".")[0] for part in (first, *more.split(","))}
    return bool(found & (_ENGINES | {"tensorflow", "jax", "keras"})) and not any(map(_TORCH.search, found))


WORD = re.compile(r"[^\W\d]\w*")

OWN = re.compile(r"\b(?:self|super\(\))\.(\w+)")


def texts(methods: Sequence[ir.Code]) -> Iterator[str]:
    """The texts of methods but `__init__`: the bodies of most are not parsed, since no walk stands in them."""
    return map(text_of, _but_init(methods))


def _but_init(methods: Sequence[ir.Code]) -> Iterator[ir.Code]:
    return (each for each in methods if each.name != "__init__")


def said(pattern: re.Pattern[str], code: ir.Code) -> frozenset[str]:
    """What a pattern finds in a function's text; it is noted on the code, which every method of its class asks."""
    noted: dict[re.Pattern[str], frozenset[str]] = vars(code).setdefault(_SAID, {})
    if pattern not in noted:
        noted[pattern] = frozenset(pattern.findall(text_of(code)))
    return noted[pattern]


_SAID = " said"


def text_of(code: ir.Code) -> str:
    """The text of a function from its name to where its class, or the next function, may begin."""
    text, start = code.span.source.text, code.span.start
    return _block(text, start, _margin(text[text.rfind("\n", 0, start) + 1 : start]))


def _margin(row: str) -> int:
    """How far a row is indented."""
    return len(row) - len(row.lstrip())


def _block(text: str, start: int, margin: int) -> str:
    """What stands from somewhere on, up to the next row that is indented no further than a margin."""
    end = re.compile(rf"\n {{0,{margin}}}(?=[^\s)#])").search(text, start)
    return text[start : end.start() if end else len(text)]
