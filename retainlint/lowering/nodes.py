"""Classes of nodes that not every supported libcst has; a tuple is empty where there is none to meet."""

from __future__ import annotations

import libcst as cst


def _present(*names: str) -> tuple[type[cst.CSTNode], ...]:
    return tuple(getattr(cst, name) for name in names if hasattr(cst, name))


INTERPOLATED = _present("FormattedString", "TemplatedString")
TEMPLATES = _present("TemplatedString")
INTERPOLATIONS = _present("FormattedStringExpression", "TemplatedStringExpression")
UNPACKING_DICT_COMPREHENSIONS = _present("StarredDictComp")
IMPORTS = _present("Import", "LazyImport")
IMPORTS_FROM = _present("ImportFrom", "LazyImportFrom")
