"""Key `policy` of a sweep: files beside the sweep file, identified by content."""

from pathlib import Path

import pandas as pd
import pytest

from nao_testbed.experiments.sweep.summary import controllers_of
from nao_testbed.experiments.sweep.sweep_table import Sweep
from nao_testbed.models import BadInput
from tests.controllers.policies.python_policy import HOLD
from tests.experiments.sweep.files import TWO_LEG, spec_of

HEAD = f"name: policies\nrobot: {TWO_LEG}\nposture: Stand\nminutes: 0.02\n"


def test_policies_are_controllers_of_the_sweep(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        tmp_path.joinpath(name).write_text(HOLD, encoding="utf-8")
    one = spec_of(tmp_path, HEAD + "policy: a.py\n")
    assert one.controllers == (f"policy:{tmp_path / 'a.py'}",)
    text = (
        HEAD + "controller: fixed\npolicy: [a.py, 'b.py:Hold']\naction_delay: 0.005\n"
    )
    spec = spec_of(tmp_path, text)
    files = (f"policy:{tmp_path / 'a.py'}", f"policy:{tmp_path / 'b.py'}:Hold")
    assert spec.controllers == ("fixed", *files)
    trials = list(spec.trials())
    assert [trial.controller for trial in trials] == ["fixed", *files]
    assert trials[0].trial_cfg().action_delay == 0.005
    before = [trial.key for trial in trials]
    tmp_path.joinpath("b.py").write_text(f"{HOLD}\n# trained on\n", encoding="utf-8")
    now = [trial.key for trial in spec_of(tmp_path, text).trials()]
    assert not set(now) & set(before)  # the changed policy is run again


def test_tables_and_figures_show_policies_without_folder_and_suffix() -> None:
    names = ["policy:/far/away/ppo_g1.onnx", "policy:/far/away/ppo_g1.onnx+cool=nudge"]
    frame = pd.DataFrame({"controller": [*names, *names, "fixed"]})
    sweep = Sweep(frame=frame, spec="", meta={}).with_short_names()
    assert controllers_of(sweep) == ("ppo_g1", "ppo_g1+cool=nudge", "fixed")
    assert list(frame["controller"].unique()) == [*names, "fixed"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policy: none.onnx\n", "none.onnx is not a file"),
        ("", "key 'controller' is missing; give it, or policy"),
        (
            "policy: a.py\ncontroller: {choice: [fixed, smart]}\n",
            "remove the key policy",
        ),
        ("policy: [a.py, a.py]\n", "name each controller once"),
    ],
)
def test_errors_have_lines(text: str, said: str, tmp_path: Path) -> None:
    tmp_path.joinpath("a.py").write_text(HOLD, encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        spec_of(tmp_path, HEAD + text)
