"""A scenario ended by a signal reports this with its results so far."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nao_testbed.models.system import END_SIGNALS
from nao_testbed.sim.recording.run_folder import read_run

ROOT = Path(__file__).resolve().parents[4]
LONG = """\
name: long
about: An hour.
duration_s: 3600
behaviours:
  - {name: head, schema: look around}
expect:
  - {never: {fallen: true}}
  - {at_s: 3000, state: Stand}
"""

MAIN = """
import signal
# A job in the background of a shell ignores these, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from nao_testbed.experiments.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.parametrize("number", [*END_SIGNALS, signal.SIGINT])
def test_signal_ends_a_run_and_saves_its_results(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "long.yaml").write_text(LONG, encoding="utf-8")
    command = [sys.executable, "-c", MAIN, "scenario", "run", "long.yaml"]
    command.append("--check-invariants")
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
    ) as process:
        events = tmp_path / "runs" / "long" / "events.jsonl"
        deadline = time.monotonic() + 60.0
        try:
            while "SchemaStarted" not in _text(events):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(number)
            printed, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    name = "the user (Ctrl-C)" if number is signal.SIGINT else number.name
    assert process.returncode == 128 + number
    assert f"ended early: stopped by {name}" in printed
    folder = events.parent
    assert read_run(folder).state == f"failed: stopped by {name}"
    result = json.loads((folder / "scenario.json").read_text("utf-8"))
    assert [verdict["holds"] for verdict in result["verdicts"]] == [True, False, True]
    assert (folder / "timeline.png").exists()


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
