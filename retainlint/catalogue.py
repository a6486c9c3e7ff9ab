"""Code, name, default and family of every rule, for those who need not load the rules to know which there are."""

from __future__ import annotations

NOT_CHECKED = "RTL900"
UNUSED = "RTL901"

FREED, MODIFIED, REFUSED, WASTED, MISSED, LINTING = "freed", "modified", "refused", "wasted", "missed", "linting"
"""What rules tell of. Those of FREED, and of MODIFIED, tell one failure by its causes, of which one a place is told."""

CATALOGUE: dict[str, tuple[str, bool, str]] = {
    "RTL101": ("backward-in-loop", True, FREED),
    "RTL102": ("backward-twice", True, FREED),
    "RTL103": ("shared-graph-losses", True, FREED),
    "RTL104": ("carried-graph", True, FREED),
    "RTL105": ("closure-reuses-graph", True, FREED),
    "RTL106": ("graph-built-in-init", True, FREED),
    "RTL107": ("missing-detach", True, FREED),
    "RTL110": ("step-before-backward", True, MODIFIED),
    "RTL111": ("saved-tensor-modified", True, MODIFIED),
    "RTL112": ("backward-without-graph", True, REFUSED),
    "RTL113": ("leaf-modified-in-place", True, REFUSED),
    "RTL114": ("gradient-of-unused-tensor", True, REFUSED),
    "RTL115": ("optimised-computed-tensor", True, REFUSED),
    "RTL116": ("view-of-several-modified", True, REFUSED),
    "RTL117": ("inference-tensor-used", True, REFUSED),
    "RTL201": ("needless-retain-graph", True, WASTED),
    "RTL202": ("growing-graph", True, WASTED),
    "RTL203": ("accumulated-graph", True, WASTED),
    "RTL204": ("stored-graph", True, WASTED),
    "RTL205": ("create-graph-backward", True, WASTED),
    "RTL206": ("graph-never-used", False, WASTED),
    "RTL301": ("backward-result-used", True, MISSED),
    "RTL302": ("unknown-backward-argument", True, MISSED),
    "RTL303": ("gradients-never-zeroed", False, MISSED),
    "RTL304": ("gradients-zeroed-before-step", True, MISSED),
    "RTL305": ("discarded-detach", True, MISSED),
    "RTL306": ("deprecated-variable", False, MISSED),
    "RTL900": ("file-not-checked", True, LINTING),
    "RTL901": ("unused-suppression", True, LINTING),
}
"""Code to name, whether it is on by default, and family; a test holds it against the rules."""
