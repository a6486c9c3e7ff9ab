"""What a run was asked for: settings from files and the command line, and which of them hold for which file."""

from __future__ import annotations

from retainlint.config.resolve import Config, Configs, Requested
from retainlint.config.selection import KnownRules, Settings
from retainlint.config.words import ConfigError, meant, nearest, shown

__all__ = ["Config", "ConfigError", "Configs", "KnownRules", "Requested", "Settings", "meant", "nearest", "shown"]
