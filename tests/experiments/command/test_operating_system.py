"""Errors of the operating system end a command in one sentence, without traceback.

Names that are too long, and pipes and devices in place of input and output files.
"""

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.experiments.command.helpers import Ran, Run
from tests.experiments.command.test_on_terminal import SCENARIO
from tests.experiments.sweep.files import SHORT

resource = pytest.importorskip("resource", reason="pipes, limits and alarms of POSIX")
assert sys.platform != "win32", "for mypy"
TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
WALKER = f"heat --robot {TWO_LEG} --posture Stand --minutes 0.01 --controllers fixed"
LONG = 300 * "x"
PATIENCE_S = 120
"""Time after which a command counts as hanging, in s."""
Largest = Callable[[int], contextlib.AbstractContextManager[None]]

INPUTS = (
    "heat --robot {}",
    "heat --preset {}",
    "robot --robot {}",
    "scenario run {}",
    "scenario check {}",
    "sweep {}",
    "sweep {} --dry-run",
    "sweep --show {}",
    "replay {}",
    "replay run --robot {}",
    "report {}",
    "identify {}",
    "posture-search Stand --robot {}",
    "resources serve --port 0 --resources {}",
    "resources serve --port 0 --secret-file {}",
    "resources list --secret-file {}",
)
OUTPUTS = (
    WALKER + " --json {}",
    WALKER + " --out {}/x",
    "scenario run short.yaml --json {}",
    "scenario run short.yaml --out {}/x",
    "sweep sweep.yaml --out {}",
    "replay run --json {}",
    "replay run --out {}/x",
    "report run --out {}",
    "identify log.csv --joint LKneePitch --json {}",
    f"posture-search Stand --robot {TWO_LEG} --json {{}}",
    f"posture-search Stand --robot {TWO_LEG} --out {{}}",
    "study preset-search --out {}",
    "study predict-published --figure {}",
    "study predict-published --json {}",
    "resources serve --port 0 --state {}",
)


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Fail a hanging command."""

    def stop(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"hangs for {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def files(here: Path) -> Path:
    """Valid files, and a pipe."""
    (here / "short.yaml").write_text(SCENARIO, "utf-8")
    (here / "sweep.yaml").write_text(SHORT, "utf-8")
    (here / "log.csv").write_text("time_s,temperature_degc\n0,30\n", "utf-8")
    os.mkfifo(here / "pipe")
    return here


def assert_one_sentence(ran: Ran, status: int = 2) -> None:
    assert ran.status == status, ran.err
    (line,) = ran.err.splitlines()
    assert line.endswith(".")
    assert "Errno" not in line
    assert ran.out == ""


@pytest.mark.parametrize("line", INPUTS + OUTPUTS)
@pytest.mark.parametrize("name", [LONG, "pipe"])
def test_an_invalid_file_name_is_reported(
    files: Path,
    nao_testbed: Run,
    undrawn: None,
    walker_run: Path,
    line: str,
    name: str,
) -> None:
    if " run " in line and not line.startswith("scenario"):
        shutil.copytree(walker_run, files / "run")
    before = set(files.rglob("*"))
    if line.endswith("--secret-file {}") and line.startswith("resources list"):
        line += " --url http://127.0.0.1:1"
    ran = nao_testbed(line.format(name))
    assert_one_sentence(ran)
    assert name[:60] in ran.err  # the start of a too long name is enough
    assert set(files.rglob("*")) == before


@pytest.mark.parametrize("line", INPUTS)
def test_an_endless_device_is_rejected(
    files: Path, nao_testbed: Run, line: str
) -> None:
    assert_one_sentence(nao_testbed(line.format("/dev/zero")))


# -- a full disk -----------------------------------------------------------------------


@pytest.fixture
def largest(monkeypatch: pytest.MonkeyPatch) -> Largest:
    """Return a function that limits file sizes; joblib tests semaphores before.

    The limit holds during the command only: pytest may write files too.
    """
    monkeypatch.setattr("tempfile._get_default_tempdir", lambda *_: "/tmp")

    @contextlib.contextmanager
    def limit(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limit


@pytest.mark.parametrize(
    "line",
    [
        WALKER,
        "scenario run short.yaml",
        "replay run",
        "identify log.csv --joint LKneePitch",
        f"posture-search Stand --robot {TWO_LEG} --starts 1",
    ],
)
def test_results_are_shown_if_their_json_cannot_be_written(
    files: Path, nao_testbed: Run, undrawn: None, run_here: Path, line: str
) -> None:
    (files / "log.csv").write_text(
        "time_s,temperature_degc,current_a\n"
        + "".join(f"{10 * i},{30 + i},0.5\n" for i in range(60)),
        "utf-8",
    )
    ran = nao_testbed(f"{line} --json /dev/full")
    assert ran.status == 1
    last = ran.err.splitlines()[-1]
    assert last.startswith("error: /dev/full cannot be written: No space left on")
    assert len(ran.out.splitlines()) > 3


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (WALKER, 12 << 10),
        ("scenario run short.yaml", 1 << 10),
        ("scenario run short.yaml", 12 << 10),
    ],
)
def test_a_run_keeps_its_data_on_a_full_disk(
    files: Path,
    nao_testbed: Run,
    undrawn: None,
    largest: Largest,
    line: str,
    size: int,
) -> None:
    with largest(size):
        ran = nao_testbed(f"{line} --out made")
    assert_one_sentence(ran, status=1)
    assert "made" in ran.err
    assert "File too large" in ran.err
    assert (files / "made").is_dir()


def test_a_sweep_resumes_after_a_full_disk(
    files: Path,
    nao_testbed: Run,
    serial: None,
    largest: Largest,
) -> None:
    with largest(2 << 10):
        ran = nao_testbed("sweep sweep.yaml --jobs 1")
    assert_one_sentence(ran, status=1)
    assert "runs/sweeps/sweep/" in ran.err
    assert nao_testbed("sweep sweep.yaml --jobs 1").status == 0


@pytest.mark.parametrize("line", ["robot", "scenario schema", "scenario list"])
def test_full_disk_of_stdout_is_reported(
    here: Path, nao_testbed: Run, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", full)
            ran = nao_testbed(line)
        with contextlib.suppress(OSError):
            full.close()
    assert ran.status == 1
    assert ran.err.startswith("error: No space left on device.")


@pytest.mark.parametrize("name", ["meta.json", "events.jsonl", "part-00000.parquet"])
@pytest.mark.parametrize("command", ["replay", "report"])
def test_a_pipe_in_a_run_folder_does_not_block(
    run_here: Path, nao_testbed: Run, undrawn: None, name: str, command: str
) -> None:
    (run_here / name).unlink()
    os.mkfifo(run_here / name)
    ran = nao_testbed(f"{command} run")
    if ran.status != 0:  # a report leaves out what is damaged
        assert_one_sentence(ran)
        assert name in ran.err
