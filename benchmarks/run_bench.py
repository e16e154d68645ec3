"""All measurements in order, with table and JSON."""

import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.commands import measure_commands
from benchmarks.engines import ENGINES, measure_engines
from benchmarks.figures import Figure
from benchmarks.loop import (
    CONTROLLERS,
    POSTURE,
    measure_controllers,
    measure_loop,
    measure_servos,
)
from benchmarks.reservations import ReservationBenchCfg, measure_reservations
from benchmarks.transmitter import TransmitterBenchCfg, measure_transmitter
from benchmarks.trials import (
    measure_fast_forward,
    measure_live,
    measure_real_time,
    measure_scenario,
)
from nao_testbed.controllers.registry import check_controllers
from nao_testbed.experiments.common.drawing.plain_table import plain_table
from nao_testbed.experiments.common.options import (
    STDOUT,
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.models import (
    BadInput,
    Robot,
    UnknownName,
    default_robot_folder,
    load_robot,
)
from nao_testbed.models.system import load_average, processors, system_name
from nao_testbed.sim.engine import engine_version
from nao_testbed.sim.recording.run_meta import commit

LONGEST_S = 600.0


class Part(StrEnum):
    """Parts of the benchmark, which can be measured separately."""

    HEAT = "heat"
    """Loop, controllers, whole trials and fast-forward."""
    SCENARIO = "scenario"
    """Ten behaviours on one robot."""
    LIVE = "live"
    """A robot with a live page."""
    RESERVATIONS = "reservations"
    """Requests, grants, tokens."""
    TRANSMITTER = "transmitter"
    """Device slots."""
    COMMANDS = "commands"
    """Whole commands, from their start to their end."""
    ENGINES = "engines"
    """Loop and scenario on PyBullet and on MuJoCo; by default measured if both are
    installed."""


@dataclass(frozen=True, kw_only=True)
class BenchCfg:
    """Parts of the benchmark and their durations."""

    seconds: float = 5.0
    """Simulated time of each measured loop, in s."""
    settle_s: float = 3.0
    """Simulated time to take the posture before that, in s."""
    controllers: tuple[str, ...] = CONTROLLERS
    """Controllers whose steps are measured."""
    controller_blocks: int = 20
    rounds: int = 2
    """Number of rounds of trials, single and in parallel."""
    trial_seconds: float | None = None
    """Simulated time of these trials in s; None: four times `seconds`."""
    fast_forward_seconds: float | None = None
    """Simulated time with and without fast-forward in s; None: 24 times `seconds`."""
    scenario_seconds: float | None = None
    """Simulated time of the scenario in s; None: 12 times `seconds`."""
    live_seconds: float | None = None
    """Simulated time of a live robot in each case, in s; None: twice `seconds`."""
    engines_scenario_seconds: float | None = None
    """Simulated time of the scenario on each engine in s; None: twice `seconds`."""
    only: Part | None = None
    """Part to measure; None: all."""
    beside: str | None = None
    """Revision of git whose commands are measured in turn with ours; None: none."""
    robot_folder: Path = field(default_factory=default_robot_folder)

    def __post_init__(self) -> None:
        """Reject invalid times."""
        if not (np.isfinite(self.seconds) and 0.1 <= self.seconds <= LONGEST_S):
            raise BadInput(
                f"seconds is {self.seconds}; give a number from 0.1 to {LONGEST_S:g}."
            )


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Computer of the measurement."""

    cores: int
    load_average: float | None
    """Load average of the last minute at the start: near 0 on an idle computer; None on
    Windows."""
    system: str
    python: str
    engine: str
    commit: str | None = None

    @classmethod
    def here(cls) -> "Machine":
        """Return the present computer."""
        return cls(
            cores=processors(),
            load_average=load_average(),
            system=system_name(),
            python=platform.python_version(),
            engine=", ".join(engine_version(e) for e in ENGINES if find_spec(e)),
            commit=commit(),
        )


@dataclass(frozen=True, kw_only=True)
class BenchResult:
    """Results of the benchmark."""

    seconds: float | None
    """Simulated time of each measured loop, in s; None if no loop was measured."""
    machine: Machine
    figures: tuple[Figure, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the contract of `--json`: figures by name."""
        figures = {}
        for one in self.figures:
            row = asdict(one)
            figures[row.pop("name")] = row
        return {
            "experiment": "bench",
            "seconds": self.seconds,
            "machine": asdict(self.machine),
            "figures": figures,
        }


def run_bench(cfg: BenchCfg, on_stage: Callable[[str], None]) -> BenchResult:
    """Measure all parts of the benchmark; run folders are temporary.

    Args:
        cfg: duration and parts of the measurement.
        on_stage: called with the name of each part before it is measured.
    """
    machine = Machine.here()
    robot = load_robot(cfg.robot_folder)
    figures: list[Figure] = []
    if cfg.only in {None, Part.HEAT}:
        figures += _measure_heat(robot, cfg, on_stage)
    if cfg.only in {None, Part.SCENARIO}:
        on_stage("scenario")
        with TemporaryDirectory(prefix="nao-testbed-bench-") as name:
            scenario_s = cfg.scenario_seconds or 12.0 * cfg.seconds
            figures += measure_scenario(Path(name), seconds=scenario_s)
    if cfg.only in {None, Part.LIVE}:
        on_stage("live")
        figures += measure_live(
            cfg.robot_folder,
            seconds=cfg.live_seconds or 2.0 * cfg.seconds,
            controller="smart",
            posture=POSTURE,
        )
    if cfg.only in {None, Part.RESERVATIONS}:
        on_stage("reservations")
        figures += measure_reservations(robot, ReservationBenchCfg())
    if cfg.only in {None, Part.TRANSMITTER}:
        on_stage("transmitter")
        figures += measure_transmitter(robot, TransmitterBenchCfg())
    if cfg.only in {None, Part.COMMANDS}:
        on_stage("commands")
        with TemporaryDirectory(prefix="nao-testbed-bench-") as name:
            figures += measure_commands(
                Path(name), rounds=cfg.rounds, beside=cfg.beside
            )
    if cfg.only is Part.ENGINES or (cfg.only is None and _has_both_engines()):
        on_stage("engines")
        with TemporaryDirectory(prefix="nao-testbed-bench-") as name:
            figures += measure_engines(
                robot,
                Path(name),
                seconds=cfg.seconds,
                settle_s=cfg.settle_s,
                scenario_seconds=cfg.engines_scenario_seconds or 2.0 * cfg.seconds,
            )
    has_loop = cfg.only not in {Part.RESERVATIONS, Part.TRANSMITTER, Part.COMMANDS}
    return BenchResult(
        seconds=cfg.seconds if has_loop else None,
        machine=machine,
        figures=tuple(figures),
    )


def _has_both_engines() -> bool:
    return all(find_spec(engine) for engine in ENGINES)


def _measure_heat(
    robot: Robot, cfg: BenchCfg, on_stage: Callable[[str], None]
) -> list[Figure]:
    trial_s = cfg.trial_seconds or 4.0 * cfg.seconds
    fast_s = cfg.fast_forward_seconds or 24.0 * cfg.seconds
    with TemporaryDirectory(prefix="nao-testbed-bench-") as name:
        folder = Path(name)
        recorded = folder / "loop"
        recorded.mkdir()
        on_stage("loop")
        loop = measure_loop(robot, recorded, seconds=cfg.seconds, settle_s=cfg.settle_s)
        on_stage("controllers")
        steps = measure_controllers(
            robot,
            loop.observations,
            blocks=cfg.controller_blocks,
            controllers=cfg.controllers,
        )
        on_stage("servos")
        servos = measure_servos(robot, seconds=cfg.seconds, settle_s=cfg.settle_s)
        on_stage("parallel trials")
        trials = measure_real_time(
            cfg.robot_folder, folder, seconds=trial_s, rounds=cfg.rounds
        )
        on_stage("fast-forward")
        fast = measure_fast_forward(cfg.robot_folder, folder, seconds=fast_s)
    return [*loop.figures, *steps, *servos, *trials, *fast]


def run_bench_command(
    seconds: float,
    json_file: str | None,
    only: str | None = None,
    controllers: Sequence[str] = (),
    beside: str | None = None,
) -> int:
    """Measure and print the table; return the exit status.

    Args:
        seconds: simulated time of each measured loop in s.
        json_file: file for JSON; `-` is stdout, and the table then goes to stderr.
        only: name of the part to measure; None: all.
        controllers: controllers whose steps are measured; empty: those of `BenchCfg`.
        beside: revision of git for the part `commands`; None: none.

    Raises:
        BadInput: the time is invalid, the file cannot be written, or there is no such
            part.
    """
    cfg = BenchCfg(seconds=seconds, only=_part(only), beside=beside)
    if controllers:
        check_controllers(controllers)
        if cfg.only not in {None, Part.HEAT}:
            raise BadInput(
                f"--controllers need the part {Part.HEAT.value}; got --only "
                f"{only}. Remove one of them."
            )
        cfg = replace(cfg, controllers=tuple(controllers))
    check_json_file(json_file)
    result = _with_progress(cfg)
    show(result, json_file)
    return 0


def show(result: BenchResult, json_file: str | None) -> None:
    """Write the requested JSON, print the table (on stderr if JSON is on stdout)."""
    write_json(json_file, json_text(result.as_json()))
    to_stderr = json_file == STDOUT
    stream = sys.stderr if to_stderr else sys.stdout
    console = Console(stderr=to_stderr, width=None if stream.isatty() else 100)
    console.print(bench_table(result))


def _part(name: str | None) -> Part | None:
    known = [part.value for part in Part]
    if name is None or name in known:
        return None if name is None else Part(name)
    raise UnknownName("Part", name, known, "the benchmark")


def bench_table(result: BenchResult) -> Table:
    """Return the figures as a table, at most 100 columns wide."""
    machine, load = result.machine, result.machine.load_average
    load_text = "unknown" if load is None else f"{load:.1f}"
    table = plain_table(
        "Medians of alternating blocks, with their quartiles",
        f"{machine.cores} cores, load average {load_text} at the start; "
        f"{machine.system}, Python {machine.python}, {machine.engine}, commit "
        f"{(machine.commit or 'unknown')[:8]}",
    )
    table.add_column("measurement", no_wrap=True)
    for name in ("median", "quartiles", "blocks", "target"):
        table.add_column(name, justify="right", no_wrap=True)
    for figure in result.figures:
        table.add_row(*_cells(figure))
    return table


def _cells(figure: Figure) -> tuple[str, str, str, str, str]:
    unit = "" if figure.unit == "1" else f" {figure.unit}"
    spread = f"{_number(figure.low)} to {_number(figure.high)}"
    return (
        figure.what,
        f"{_number(figure.value)}{unit}",
        spread if figure.blocks > 1 else "",
        str(figure.blocks),
        _target(figure, unit),
    )


def _target(figure: Figure, unit: str) -> str:
    if figure.target is None:
        return ""
    return f"{'≥' if figure.is_at_least else '≤'} {_number(figure.target)}{unit}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def _with_progress(cfg: BenchCfg) -> BenchResult:
    if not sys.stderr.isatty():
        return run_bench(cfg, lambda _stage: None)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("bench")
        return run_bench(cfg, lambda stage: progress.update(task, description=stage))
