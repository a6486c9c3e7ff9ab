"""What is taken for granted of libraries, by their names: one list, with what each is known for."""

from __future__ import annotations

import re

from retainlint.ir import facts
from retainlint.startup.lazy_patterns import pattern
from retainlint.text import stubs
from retainlint.text.recalling import recalled
from retainlint.text.source import Source

KINDS = {
    "definitions": "its names are functions, classes and modules, so neither false nor None; but for constants and settings",
    "modelled": "the machine has models of its functions",
    "plain": "what its other functions return has no graph",
    "reader": "it only looks at what it is given: it keeps no graph, runs no backward pass, and zeroes no gradients",
    "harmless": "it keeps and changes nothing of what it is given",
    "safe": "its functions don't raise, but for those that load, save and compile",
    "arrays": "it computes with arrays of its own: what it returns has no graph of torch's",
    "engine": "it has an autograd of its own: what a file that imports it, and nothing of torch, calls backward on is not torch's",
}
"""What a library may be known for."""

_TABLE = """
torch: definitions reader harmless safe
builtins: reader harmless
numpy: definitions modelled plain reader harmless arrays
math: definitions modelled plain reader harmless safe
logging: definitions modelled plain reader harmless
random json tomllib tomli ini yaml os sys: definitions modelled plain reader
time: definitions modelled plain reader safe
argparse: definitions modelled plain
typing: modelled plain
collections contextlib copy functools itertools: definitions modelled safe
dataclasses operator types: definitions modelled
bisect heapq pytest queue: definitions
tqdm: definitions modelled reader
torchvision matplotlib pprint PIL cv2 sklearn scipy pandas warnings: definitions reader
torchaudio torchtext apex accelerate asyncio csv datetime enum gc glob importlib inspect pathlib pickle re shutil string: definitions
subprocess tempfile threading unittest uuid: definitions
wandb tensorboardX tensorboard_logger visdom mlflow loguru absl: reader
cupy numpy_ml flax taichi warp: arrays
mxnet paddle paddlepaddle tinygrad micrograd chainer jax tensorflow keras minitorch mindspore jittor megengine: arrays engine
nnabla cntk theano autograd dezero picograd nanograd needle mygrad norse_np drjit mitsuba tf2jax: arrays engine
oneflow singa plaidml caffe2 mlx: arrays engine
"""


def _read(table: str) -> dict[str, frozenset[str]]:
    rows = (row.partition(":") for row in table.split("\n") if row)
    return {name: frozenset(kinds.split()) for names, _, kinds in rows for name in names.split()}


LIBRARIES = _read(_TABLE)
"""Library to what it is known for."""

_ENGINES = tuple(name for name, kinds in LIBRARIES.items() if "engine" in kinds)

NO_OPERATIONS = ("torch.distributed.", "torch.multiprocessing.", "torch.utils.data.", "torch.utils.tensorboard.")
"""Parts of torch whose functions build no graph, and may keep what they are given."""
RISKY = ("torch.load", "torch.save", "torch.compile", "torch.jit", "torch.distributed", "torch.cuda", "torch.hub")
"""What of torch may raise, too."""
ALIASES = frozenset("double float half short int long cdouble cfloat chalf bit legacy_contiguous_format".split())
"""Names in torch of what has another name there, too."""
_ON_TORCH = pattern(r"torch|lightning|timm|fastai|diffusers|monai|mmcv|mmengine")
"""Libraries built on torch, beside those that have a stub."""
_SETTINGS = re.compile(r"torch\.(backends\.\w+\.(?!is_)|version\.|_C\._?has_|has_)|sys\.flags\.")
_CLASS = re.compile(r"_?[A-Z](?=\w*[a-z])\w*$")
_NOTHING = frozenset[str]()


def known_for(kind: str, path: str) -> bool:
    """Whether the library in which a path lies is known for that."""
    return kind in LIBRARIES.get(path.partition(".")[0], _NOTHING)


def is_definition(path: str) -> bool:
    """Whether a path is surely that of a function, a class or a module, so neither false nor None. What
    `from options import flag` binds may be anything."""
    root, _, inner = path.partition(".")
    name = inner.rpartition(".")[2]
    if not inner or root in ("builtins", "typing") or _CLASS.match(name):
        return True
    return known_for("definitions", root) and not name.isupper() and not _SETTINGS.match(path)


@recalled
def speaks_another(source: Source) -> bool:
    """Whether a file imports a library with an autograd of its own, and nothing of torch: what it walks, and we can't see,
    is not torch's."""
    if not any(each in source.text for each in _ENGINES):
        return False
    found = facts.packages(source)
    return any(known_for("engine", each) for each in found) and not any(
        each in stubs.packages() or _ON_TORCH.search(each) for each in found
    )
