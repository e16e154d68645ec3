"""`heat --policy FILE`: from a network to the table of results."""

import json
from pathlib import Path

import pytest

from nao_testbed.experiments.report.run_source import read_source
from tests.controllers.policies.networks import balance
from tests.experiments.command.helpers import Run

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
STAND = f"heat --robot {TWO_LEG} --posture Stand --gear-friction 0 --minutes 0.04"


@pytest.mark.slow
def test_a_policy_is_a_robot_of_the_heat_experiment(
    here: Path, nao_testbed: Run
) -> None:
    """Runs alone without --controllers; table, JSON and folder have a short name."""
    done = nao_testbed(
        f"{STAND} --policy {balance(here)} --action-delay 0.001 --json out.json"
    )
    assert done.status == 0, done.err
    assert "balance" in done.out
    trials = json.loads((here / "out.json").read_text(encoding="utf-8"))["trials"]
    (name,) = trials
    assert name == f"balance+layout={here / 'balance.yaml'}"
    assert trials[name]["fell"] is False
    settings = json.loads((here / "out.json").read_text(encoding="utf-8"))["settings"]
    assert settings["action_delay_s"] == 0.001
    source = read_source(here / "runs" / "heat")
    assert [trial.name for trial in source.trials] == [name]
    assert not source.warnings


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--policy none.onnx", "policy none.onnx is not a file"),
        ("--command 1,0,0", "--command 1,0,0 is for a policy; give --policy FILE too."),
        ("--policy POLICY --command 1,0", "is not three numbers"),
        ("--policy POLICY --control-period 0.03", "is not a multiple of the control"),
        ("--policy POLICY --observation-delay 0.0005", "is not a multiple of the phys"),
        ("--policy POLICY --robot nao", "is not in robot 'nao'"),
    ],
)
def test_an_invalid_policy_gives_one_error_line(
    options: str, said: str, here: Path, nao_testbed: Run
) -> None:
    done = nao_testbed(f"{STAND} {options.replace('POLICY', balance(here))}")
    assert done.status == 2, done.err
    assert said in done.err
    assert done.err.startswith("error: ")
    assert len(done.err.strip().splitlines()) == 1
