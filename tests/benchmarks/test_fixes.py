"""The bench of fixes on one program of each kind: torch runs what the fix writes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="real torch is the judge here")

from benchmarks.truth.fixes import Tally, fixtures, measured
from benchmarks.truth.judging import ROOT

FIXED = {
    "raises/seed_linear_sum_loop.py": "RTL101",
    "raises/twice_by_alias.py": "RTL102",
    "raises/shared_encoder_two_heads.py": "RTL103",
    "raises/rnn_language_model_lightning_like.py": "RTL104",
    "raises/closure_lbfgs_loss_outside.py": "RTL105",
    "raises/init_policy_distribution.py": "RTL106",
    "raises/gan_pix2pix_model.py": "RTL107",
    "raises/step_between_two_losses.py": "RTL110",
    "raises/inplace_relu_plus_residual.py": "RTL111",
    "raises/nograph_forward_under_no_grad.py": "RTL112",
    "raises/leaf_soft_update_without_no_grad.py": "RTL113",
}


@pytest.mark.parametrize(("name", "code"), FIXED.items())
def test_what_raises_runs_once_it_is_fixed(name: str, code: str, tmp_path: Path) -> None:
    (program,) = fixtures([ROOT / "fixtures" / name])
    outcome = measured(program, tmp_path, run=True, unsafe=True)
    assert (outcome.word, outcome.codes, outcome.left) == ("fixed", (code,), ())
    assert measured(program, tmp_path, run=True, unsafe=False).word == "no fix"


def test_a_safe_fix_keeps_the_output(tmp_path: Path) -> None:
    (program,) = fixtures([ROOT / "fixtures" / "runs" / "seed_retained_product.py"])
    outcome = measured(program, tmp_path, run=True, unsafe=False)
    assert outcome.word == "same output"
    assert outcome.before[0].stdout != ""
    tally = Tally()
    tally.add(outcome)
    assert "same output: 1" in tally.table()
