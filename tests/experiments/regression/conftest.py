"""Trials of a small standing robot that are run once."""

from pathlib import Path

import pytest

from nao_testbed.experiments.regression import (
    StandingCfg,
    StandingTrial,
    run_standing_trial,
)

ROOT = Path(__file__).resolve().parents[3]
TWO_LEG = ROOT / "tests" / "data" / "two_leg"


@pytest.fixture(scope="session")
def short() -> StandingCfg:
    """Setting of the small robot for two seconds."""
    return StandingCfg(seconds=2.0, robot=TWO_LEG)


@pytest.fixture(scope="session")
def fixed(
    short: StandingCfg, tmp_path_factory: pytest.TempPathFactory
) -> StandingTrial:
    return run_standing_trial("fixed", short, tmp_path_factory.mktemp("fixed"))


@pytest.fixture(scope="session")
def weak(short: StandingCfg, tmp_path_factory: pytest.TempPathFactory) -> StandingTrial:
    """Trial with a stiffness of 0.01, in which the robot falls."""
    return run_standing_trial("constant:0.01", short, tmp_path_factory.mktemp("weak"))
