"""What the name of something outside of the project tells of it: nobody looks into the libraries themselves."""

from __future__ import annotations

import re

_LIBRARIES = frozenset(
    """torch torchvision torchaudio torchtext numpy scipy pandas matplotlib tqdm PIL cv2 sklearn pytest apex accelerate
    argparse asyncio collections contextlib copy csv dataclasses datetime enum functools gc glob importlib inspect
    itertools json logging math operator os pathlib pickle pprint random re shutil string subprocess sys tempfile
    threading time types unittest uuid warnings""".split()
)
"""Those of which a name is a function or a module, unless it is written like a constant or is one of the settings."""
_SETTINGS = re.compile(r"torch\.(backends\.\w+\.(?!is_)|version\.|_C\._?has_|has_)|sys\.flags\.")
_CLASS = re.compile(r"_?[A-Z]\w*[a-z]\w*$")


def is_definition(path: str) -> bool:
    """Whether a path is surely that of a function, a class or a module, so neither false nor None. What
    `from options import flag` binds may be anything."""
    root, _, inner = path.partition(".")
    name = inner.rpartition(".")[2]
    if not inner or root in ("builtins", "typing") or _CLASS.match(name):
        return True
    return root in _LIBRARIES and not name.isupper() and not _SETTINGS.match(path)
