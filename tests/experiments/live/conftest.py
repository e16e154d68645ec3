"""A short live run, recorded once for read-only use."""

from pathlib import Path

import pytest

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

from nao_testbed.experiments.live.player import ReplayedRun, read_recording
from nao_testbed.experiments.live.robot.operation import HeatNow
from tests.experiments.common.recorded_runs import RecordedRuns
from tests.experiments.live.robot.test_live_robot import live_robots, run


def heat_head(folder: Path) -> None:
    with live_robots() as make:
        live = make(folder=folder)
        run(live, 40)
        live.act(HeatNow(joint="HeadYaw", degc=70.0))
        run(live, 40)
        live.close("done")


@pytest.fixture(scope="session")
def live_run(recorded: RecordedRuns) -> Path:
    """Run folder of 0.8 s of the preset `document`, the head heated after 0.4 s."""
    return recorded("live", heat_head)


@pytest.fixture(scope="session")
def recording(live_run: Path) -> ReplayedRun:
    """The run as read by the page; shared, since loading takes half a second."""
    return read_recording(live_run)
