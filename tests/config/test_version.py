"""Which versions a project asks for."""

from __future__ import annotations

import pytest

from retainlint.config import ConfigError
from retainlint.config.version import satisfies


@pytest.mark.parametrize(
    ("version", "required", "holds"),
    [
        ("1.2.3", "1.2.3", True), ("1.2.3", "==1.2", False), ("1.2.0", "==1.2", True), ("1.2.3", "1.2.*", True),
        ("1.2.3", "!=1.2.*", False), ("1.2.3", ">=1.2,<2", True), ("1.10.0", ">=1.9", True), ("2.0", ">=1.2, <2", False),
        ("1.2.3", "~=1.2", True), ("2.0", "~=1.2", False), ("1.2.3", "~=1.2.4", False), ("1.2.3.dev1+g1", ">1.2.2", True),
        ("1.2.3", "!=1.2.3", False), ("1.2.3", " <= v1.2.3 ", True), ("1.2.3", ">1.2.3", False), ("0.1", "~=0", True),
    ],
)  # fmt: skip
def test_conditions(version: str, required: str, holds: bool) -> None:
    assert satisfies(version, required) is holds


@pytest.mark.parametrize("required", ["", "latest", ">=1,", "=>1", ">=1.*", "1.x", "1" * 4000, ">=2,nonsense", "\x1b"])
def test_what_is_no_condition_is_told(required: str) -> None:
    with pytest.raises(ConfigError, match="is no condition on a version") as raised:
        satisfies("1.0", required)
    assert str(raised.value).isprintable()
