"""Code, name and default of every rule, for those who need not load the rules to know which there are."""

from __future__ import annotations

NOT_CHECKED = "RTL900"
UNUSED = "RTL901"

CATALOGUE: dict[str, tuple[str, bool]] = {
    "RTL101": ("backward-in-loop", True),
    "RTL102": ("backward-twice", True),
    "RTL103": ("shared-graph-losses", True),
    "RTL104": ("carried-graph", True),
    "RTL105": ("closure-reuses-graph", True),
    "RTL106": ("graph-built-in-init", True),
    "RTL107": ("missing-detach", True),
    "RTL110": ("step-before-backward", True),
    "RTL111": ("saved-tensor-modified", True),
    "RTL112": ("backward-without-graph", True),
    "RTL113": ("leaf-modified-in-place", True),
    "RTL114": ("gradient-of-unused-tensor", True),
    "RTL115": ("optimised-computed-tensor", True),
    "RTL201": ("needless-retain-graph", True),
    "RTL202": ("growing-graph", True),
    "RTL203": ("accumulated-graph", True),
    "RTL204": ("stored-graph", True),
    "RTL205": ("create-graph-backward", True),
    "RTL206": ("graph-never-used", False),
    "RTL301": ("backward-result-used", True),
    "RTL302": ("unknown-backward-argument", True),
    "RTL303": ("gradients-never-zeroed", False),
    "RTL304": ("gradients-zeroed-before-step", True),
    "RTL305": ("discarded-detach", True),
    "RTL306": ("deprecated-variable", False),
    "RTL900": ("file-not-checked", True),
    "RTL901": ("unused-suppression", True),
}
"""Code to name and whether it is on by default; a test holds it against the rules."""
