"""Hanging code: a signal ends the command, and finished results are kept."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nao_testbed.experiments.sweep.sweep_table import read_sweep
from nao_testbed.models.system import KILL
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.command.helpers import Launch
from tests.experiments.command.test_ill_behaved import LINE, TWO_LEG, theirs
from tests.experiments.command.test_interruption import (
    PATIENCE_S,
    group_is_empty,
    wait_for,
)
from tests.experiments.sweep.files import SHORT

__all__ = ["theirs"]
SCENARIO = """\
name: hour
about: An hour.
controller: {}
duration_s: 3600
behaviours:
  - {{name: head, schema: look around}}
expect:
  - {{never: {{fallen: true}}}}
"""
PYTEST = f"""
import pytest

@pytest.mark.standing(
    controller={{!r}}, robot={str(TWO_LEG)!r}, seconds=2.0, fast_forward=False
)
def test_it(standing_trial):
    standing_trial.stays_up()
"""

pytestmark = pytest.mark.slow(covers=False)


def end(process: "subprocess.Popen[str]", here: Path, number: signal.Signals) -> str:
    """Send one signal when the command hangs; return its output.

    The command ends with the status of the signal, or is killed.
    """
    hung = here / "hung"
    wait_for(lambda: hung.exists() or process.poll() is not None, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (128 + number, -KILL)
    wait_for(lambda: group_is_empty(process.pid), process)
    assert "Traceback" not in out + err
    return out + err


@pytest.mark.parametrize(
    ("name", "number"), [("swallows", signal.SIGTERM), ("computes", signal.SIGINT)]
)
def test_a_hanging_scenario_ends(
    here: Path, theirs: None, launch: Launch, name: str, number: signal.Signals
) -> None:
    (here / "hour.yaml").write_text(SCENARIO.format(name), "utf-8")
    said = end(launch("scenario run hour.yaml"), here, number)
    assert "code that did not return" in said
    assert read_run(here / "runs" / "hour").state == "interrupted"
    assert (here / "runs" / "hour" / "events.jsonl").read_text("utf-8")


def test_a_killed_scenario_keeps_rows_and_events(here: Path, launch: Launch) -> None:
    (here / "hour.yaml").write_text(SCENARIO.format("fixed"), "utf-8")
    process, run = launch("scenario run hour.yaml"), here / "runs" / "hour"
    wait_for(lambda: bool(list(run.glob("part-*.parquet"))), process)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    kept = read_run(run)
    assert kept.state == "interrupted"
    assert len(kept.frame) > 1
    assert kept.events


def test_a_run_that_hangs_in_c_ends(here: Path, theirs: None, launch: Launch) -> None:
    said = end(launch(LINE + "computes"), here, signal.SIGTERM)
    assert "code that did not return was killed with this process" in said
    assert read_run(here / "runs" / "heat" / "computes").state == "interrupted"


@pytest.mark.parametrize("name", ["swallows", "computes"])
def test_a_hanging_regression_kit_ends(here: Path, theirs: None, name: str) -> None:
    (here / "test_theirs.py").write_text(PYTEST.format(name), "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider"],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        said = end(process, here, signal.SIGINT)
    finally:
        process.kill()
    assert "code that did not return" in said


@pytest.mark.parametrize("how", ["told", "killed"])
def test_hanging_live_robots_end(
    here: Path, theirs: None, launch: Launch, how: str
) -> None:
    pytest.importorskip("viser", reason="nao-testbed[live] is not installed")
    line = f"live --robot {TWO_LEG} --no-browser --port 0 --controllers swallows,fixed"
    if how == "told":
        said = end(launch(line), here, signal.SIGINT)
        assert "the robot of controller 'swallows' did not end within 6 s" in said
    else:
        process = launch(line)
        wait_for((here / "hung").exists, process)
        process.kill()
        wait_for(lambda: group_is_empty(process.pid), process)
    (run,) = (here / "runs").rglob("fixed")
    assert read_run(run).state == "done"


def test_a_live_robot_that_crashes_is_named(
    here: Path, theirs: None, launch: Launch
) -> None:
    pytest.importorskip("viser", reason="nao-testbed[live] is not installed")
    line = f"live --robot {TWO_LEG} --no-browser --port 0 --controllers crashes,fixed"
    process = launch(line)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "error: the process of controller 'crashes' was ended by SIGSEGV" in err


def test_a_sweep_ends_and_resumes(here: Path, theirs: None, launch: Launch) -> None:
    """Of an interrupted sweep, `test_broken_off_sweep` compares the table."""
    text = SHORT.replace('fixed, "constant:0.9"', "fixed, once")
    (here / "short.yaml").write_text(text, "utf-8")
    process = launch("sweep short.yaml --out out --jobs 2")
    said = end(process, here, signal.SIGINT)
    assert said.startswith("stopped")
    process = launch("sweep short.yaml --jobs 2 --out out")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert len(read_sweep(here / "out").frame) == 6


def test_a_dry_run_names_the_controller_that_exits(
    here: Path, theirs: None, launch: Launch
) -> None:
    (here / "short.yaml").write_text(
        SHORT.replace('fixed, "constant:0.9"', "leaves"), "utf-8"
    )
    process = launch("sweep short.yaml --dry-run")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert err.startswith("error: ")
    assert "the process of its controller 'leaves' ended 3 times" in err
