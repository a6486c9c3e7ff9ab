"""Libraries that walk graphs of their own, and which files are written for one of these rather than for torch."""

from __future__ import annotations

import re
from functools import lru_cache

from retainlint.ir import facts
from retainlint.symbolic.state import limits
from retainlint.text.source import Source

FOREIGN = frozenset(
    """mxnet paddle paddlepaddle tinygrad micrograd chainer jax flax tensorflow keras minitorch mindspore jittor megengine
    nnabla cntk theano autograd dezero numpy_ml picograd nanograd needle mygrad norse_np drjit mitsuba taichi warp tf2jax
    cupy numpy oneflow singa plaidml caffe2 mlx""".split()
)

_ENGINES = FOREIGN - {"numpy", "cupy", "numpy_ml", "jax", "flax", "tensorflow", "keras", "taichi", "warp"}

_TORCH = re.compile(
    r"torch|lightning|accelerate|transformers|timm|ignite|deepspeed|fastai|diffusers|monai|mmcv|mmengine"
)


def is_foreign(path: str) -> bool:
    """Whether a thing comes from such a library."""
    return path.partition(".")[0] in FOREIGN


@lru_cache(maxsize=limits.REMEMBERED_SOURCES)
def speaks_another(source: Source) -> bool:
    """Whether a file imports such a library and nothing of torch: what it walks, and we can't see, is not torch's."""
    found = facts.packages(source)
    return bool(found & (_ENGINES | {"tensorflow", "jax", "keras"})) and not any(map(_TORCH.search, found))
