"""Configurations for tests, as the command line would build them from the rules named here."""

from __future__ import annotations

from retainlint.config import Configs, KnownRules, Requested
from retainlint.config.table import SettingValue

NAMES = {"RTL101": "backward-in-loop", "RTL102": "backward-twice", "RTL201": "needless-retain", "RTL900": "not-checked"}
KNOWN = KnownRules(NAMES, frozenset({"RTL201"}))


def configs(*texts: str, **values: SettingValue) -> Configs:
    """What holds with these `--config` texts and these settings, `_` for `-`, from the command line."""
    stated = {key.replace("_", "-"): value for key, value in values.items()}
    return Configs(Requested(stated, texts), KNOWN, "0.4.1")
