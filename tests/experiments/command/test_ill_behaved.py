"""Third-party controllers that exit, crash, hang or ignore signals."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.command.helpers import Launch
from tests.experiments.command.test_interruption import (
    PATIENCE_S,
    group_is_empty,
    wait_for,
)

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
LINE = f"heat --robot {TWO_LEG} --posture Stand --full --minutes 0.01 --controllers "
DEEDS = {
    "exits": "sys.exit(0)",
    "interrupts": "raise KeyboardInterrupt",
    "leaves": "os._exit(0)",
    "crashes": "os.kill(os.getpid(), 11)",
    "wanders": "os.chdir('/')",
    "threads": "threading.Thread(target=time.sleep, args=(600,)).start()",
    "sleeps": "hung(); time.sleep(600)",
    "swallows": "hung(); swallow()",
    "holds_lock": "hung(); re.match('(a+)+$', 'a' * 60 + 'b')",
    "computes": "hung(); max(range(10**15))",  # in C, and ignores signals there
    "once": "Path('hung').exists() or (hung(), swallow())",
}
CODE = """
import os, re, sys, threading, time
from pathlib import Path
from nao_testbed.controllers.interface.controller import FixedStiffness

def hung():
    Path("hung").touch()

def swallow():
    while True:
        try:
            time.sleep(600)
        except BaseException:
            pass

class Theirs(FixedStiffness):
    def __init__(self, deed):
        super().__init__()
        self.name, self._n, self._deed = "theirs", 0, deed

    def step(self, observation):
        self._n += 1
        if self._n == 6:
            exec(self._deed)
        return super().step(observation)
"""

pytestmark = pytest.mark.slow(covers=False)


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package with them on the path of new processes."""
    about = tmp_path / "site" / "theirs-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Name: theirs\nVersion: 1.0\n", "utf-8")
    points = [f"{name} = theirs:{name}" for name in DEEDS]
    (about / "entry_points.txt").write_text(
        "\n".join(["[nao_testbed.controllers]", *points]), "utf-8"
    )
    makes = [f"def {name}(_): return Theirs({deed!r})" for name, deed in DEEDS.items()]
    (about.parent / "theirs.py").write_text("\n".join([CODE, *makes]), "utf-8")
    path = [str(about.parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("exits", ",fixed", "controller 'theirs' raised in step 6 (t = 0.100 s): Sys"),
        ("interrupts", "", "controller 'theirs' raised in step 6 (t = 0.100 s): Keyb"),
        ("crashes", ",fixed", "the process of controller 'crashes' was ended by SIGSE"),
    ],
)
def test_an_exiting_controller_is_named_and_the_other_kept(
    here: Path, theirs: None, launch: Launch, name: str, other: str, said: str
) -> None:
    process = launch(LINE + name + other)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert f"error: {said}" in err
    assert "Traceback" not in err
    assert ("Joints, Stand, 0.01 min" in " ".join(out.split())) == bool(other)


@pytest.mark.parametrize("name", ["wanders", "threads"])
def test_chdir_or_a_leftover_thread_does_not_lose_the_run(
    here: Path, theirs: None, launch: Launch, name: str
) -> None:
    process = launch(LINE + name)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert "Joints, Stand, 0.01 min" in " ".join(out.split())
    assert read_run(here / "runs" / "heat" / name).state == "done"


@pytest.mark.parametrize(
    ("controllers", "number", "is_named"),
    [
        ("sleeps", signal.SIGINT, False),
        ("swallows", signal.SIGTERM, False),
        ("fixed,sleeps", signal.SIGTERM, False),
        ("fixed,swallows", signal.SIGINT, True),
        ("fixed,holds_lock", signal.SIGTERM, True),
    ],
)
def test_a_signal_ends_a_command_whose_controller_hangs(
    here: Path,
    theirs: None,
    launch: Launch,
    controllers: str,
    number: signal.Signals,
    is_named: bool,
) -> None:
    process = launch(LINE + controllers)
    wait_for((here / "hung").exists, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    wait_for(lambda: group_is_empty(process.pid), process)
    assert process.returncode == 128 + number
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("stopped by ")
    assert ("did not return, its process was killed" in err) == is_named
    if controllers == "sleeps":
        assert read_run(here / "runs" / "heat" / "sleeps").state.startswith("failed: s")


def test_a_leftover_thread_does_not_block_after_ctrl_c(
    here: Path, theirs: None, launch: Launch
) -> None:
    process = launch(LINE.replace("0.01", "600") + "threads")
    run = here / "runs" / "heat" / "threads" / "meta.json"
    wait_for(run.exists, process)
    time.sleep(1.0)
    process.send_signal(signal.SIGTERM)
    try:
        _, err = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        pytest.fail("it stays")
    assert (process.returncode, "Traceback" in err) == (143, False)
