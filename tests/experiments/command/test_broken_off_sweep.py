"""An interrupted sweep resumes and gives the table of an uninterrupted one."""

import signal
import subprocess
from pathlib import Path

import pytest
from pandas import DataFrame
from pandas.testing import assert_frame_equal

from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.spec_file.read_spec import read_spec
from nao_testbed.experiments.sweep.sweep_table import read_sweep
from nao_testbed.models.system import KILL
from tests.experiments.command.helpers import Launch, Run
from tests.experiments.command.test_interruption import PATIENCE_S, wait_for
from tests.experiments.sweep.files import SHORT
from tests.processes import send_to_all

CLOCKS = ["wall_s", "trial_s"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    folder = tmp_path_factory.mktemp("unbroken")
    (folder / "short.yaml").write_text(SHORT, "utf-8")
    return run_sweep(read_spec(folder / "short.yaml"), folder / "out").frame


def break_off(process: "subprocess.Popen[str]", out: Path, how: signal.Signals) -> int:
    """Send a signal after the first trial; return the number of trials by then."""
    trials = out / "trials"
    wait_for(lambda: trials.exists() and bool(list(trials.glob("*.json"))), process)
    send_to_all(process, how)
    process.communicate(timeout=PATIENCE_S)
    return len(list(trials.glob("*.json")))


@pytest.mark.parametrize("how", [KILL, signal.SIGTERM])
def test_a_terminated_sweep_resumes_with_the_same_table(
    here: Path,
    launch: Launch,
    nao_testbed: Run,
    unbroken: DataFrame,
    how: signal.Signals,
) -> None:
    (here / "short.yaml").write_text(SHORT, "utf-8")
    line = "sweep short.yaml --out out --jobs 1"
    done = break_off(launch(line), here / "out", how)
    assert done > 0
    shown = nao_testbed("sweep --show out")
    assert shown.status == 0
    assert shown.err.startswith(f"{6 - done} of 6 trials are missing.")
    out, err = launch(line).communicate(timeout=PATIENCE_S)
    assert err == ""
    assert f"6 of 6 trials finished, {done} of them earlier" in out
    frame = read_sweep(here / "out").frame
    assert_frame_equal(frame.drop(columns=CLOCKS), unbroken.drop(columns=CLOCKS))
