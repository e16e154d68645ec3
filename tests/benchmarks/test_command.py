"""`python -m benchmarks`: options, output and errors."""

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app, main
from benchmarks.commands import measure_commands
from benchmarks.figures import figure
from benchmarks.run_bench import BenchCfg, BenchResult, Machine, Part
from nao_testbed.models import BadInput
from tests.experiments.command.helpers import plain, terminal


def test_bench_takes_other_controllers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def measured(cfg: BenchCfg, _: object) -> BenchResult:
        seen.append(cfg.controllers)
        return BenchResult(seconds=1.0, machine=Machine.here(), figures=())

    monkeypatch.setattr("benchmarks.run_bench.run_bench", measured)
    CliRunner().invoke(app, [])
    CliRunner().invoke(app, ["--controllers", "nudge, constant:0.5"])
    assert seen == [("smart", "smart-full", "minheat"), ("nudge", "constant:0.5")]


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_the_bench_shows_progress(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    def measured(cfg: BenchCfg, on_stage: Callable[[str], None]) -> BenchResult:
        on_stage("the loop of a robot")
        found = figure("loop", "the loop", "µs", [90.0, 100.0], 200.0)
        return BenchResult(seconds=1.0, machine=Machine.here(), figures=(found,))

    monkeypatch.setattr("benchmarks.run_bench.run_bench", measured)
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    with terminal(columns) as seen, pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    lines = re.split(r"[\r\n]+", plain(b"".join(seen).decode()))
    told = [line.rstrip() for line in lines if "the loop of a robot" in line]
    assert told
    assert max(map(len, told)) <= columns


@pytest.mark.slow(covers=False)
def test_a_command_is_measured_beside_its_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = {"heat": (lambda _folder: 0.5, 1.5)}
    monkeypatch.setattr("benchmarks.commands._TRIALS", trials)
    whole, over = measure_commands(tmp_path, rounds=2, commands={"heat": ["--help"]})
    assert len(list(tmp_path.glob("run-*"))) == 3  # no run resumes another one
    assert (whole.what, over.what) == (
        "nao-testbed --help",
        "nao-testbed --help / its trials",
    )
    assert whole.blocks == 2
    assert over.value == pytest.approx(2.0 * whole.value)
    assert 0.02 < whole.value < 30.0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--only scenario --controllers smart", "need the part heat"),
        ("--controllers smrt", "Did you mean 'smart'"),
        ("--only scenarios", "Did you mean 'scenario'"),
        ("--only commands --beside nowhere", "--beside nowhere: "),
        ("--seconds 0.01", "give a number from 0.1 to 600"),
        ("--seconds 1e20", "--seconds = 1e+20; give a finite number"),
        ("--json precious.txt", "nao-testbed did not write it"),
        ("--json missing/bench.json", "cannot be written"),
    ],
)
def test_unmeasurable_input_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("precious.txt").write_text("my thesis\n", "utf-8")
    ran = CliRunner().invoke(app, shlex.split(line))
    assert isinstance(ran.exception, BadInput)
    assert said in str(ran.exception)
    assert Path("precious.txt").read_text("utf-8") == "my thesis\n"


def test_help_names_the_parts_and_numbers_are_validated() -> None:
    shown = " ".join(
        CliRunner().invoke(app, ["--help"], terminal_width=200).output.split()
    )
    assert all(part in shown for part in Part)
    ran = CliRunner().invoke(app, ["--seconds", "1_0"])
    assert isinstance(ran.exception, BadInput)
    assert "has an underscore" in str(ran.exception)
