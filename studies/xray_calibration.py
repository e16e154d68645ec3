"""Calibration of the X-ray on faulty logs of simulated robots.

    python -m studies.xray_calibration --logs 200 --seed 36

Each robot stands with one misaligned leg joint, as in `xray --trials`, and gives three
logs; log i has fault i mod n of `studies.faulty_logs`. NAO and G1 take turns. Counted
are the causes named in the headline: a name is right if the joint is misaligned. Equal
errors of both ankles or a slope are never right, since the floors are level.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.drawing.page import DataTable
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, count_bar
from nao_testbed.experiments.heat.xray.standing_model import Assumptions
from nao_testbed.experiments.heat.xray.trials import TrialsCfg, drawn_setting
from nao_testbed.experiments.heat.xray.xray import XrayCfg, xray
from nao_testbed.models import (
    BadInput,
    Robot,
    UnknownName,
    default_robot_folder,
    load_robot,
)
from nao_testbed.models.system import processors
from nao_testbed.sim.recording.run_folder import read_run
from studies.commands import run_study
from studies.faulty_logs import FAULTS, sensors_of

FAST = "fast-forward"
"""Kind of log that is the run folder itself, fast-forwarded."""
KINDS = (*FAULTS, FAST)
SWAPPED = "legs swapped"
LOGS_OF_A_ROBOT = 3
FAST_S = 30.0
"""Length of a fast-forwarded log in s."""


@dataclass(frozen=True, kw_only=True)
class CalibrationCfg:
    """Options; see `nao-testbed study xray-calibration --help`."""

    logs: int
    seed: int
    seconds: float
    robots: tuple[str, ...]
    kinds: tuple[str, ...] = KINDS

    def __post_init__(self) -> None:
        """Check the kinds.

        Raises:
            UnknownName: there is no such kind of log.
        """
        for kind in self.kinds:
            if kind not in KINDS:
                raise UnknownName("Kind", kind, KINDS, "xray-calibration")


@dataclass(frozen=True, kw_only=True)
class LogResult:
    """Answer to one log."""

    robot: str
    kind: str
    true_deg: dict[str, float]
    named: dict[str, float] = field(default_factory=dict)
    """Named cause to its probability."""
    inside: bool | None = None
    """True if the 95 % interval of a correctly named joint contains its error."""
    width_deg: float | None = None
    """Width of this interval."""
    is_explained: bool = True
    refused: str = ""
    """Message of a refused log."""

    @property
    def is_false(self) -> bool:
        """True if a named cause is none."""
        return any(name not in self.true_deg for name in self.named)


def run_robot(cfg: CalibrationCfg, k: int) -> list[LogResult]:
    """Simulate robot `k`, and X-ray its logs."""
    name = cfg.robots[k % len(cfg.robots)]
    folder = default_robot_folder().parent / name
    robot = load_robot(folder)
    trials = TrialsCfg(
        robots=cfg.logs, seed=cfg.seed, robot=folder, assumptions=Assumptions()
    )
    setting = drawn_setting(robot, trials, k)
    posture = setting.posture_of(robot)
    numbers = range(k * LOGS_OF_A_ROBOT, min((k + 1) * LOGS_OF_A_ROBOT, cfg.logs))
    with tempfile.TemporaryDirectory() as base:

        def stand(run: str, seconds: float, jumps: FastForwardCfg | None) -> Path:
            path = Path(base) / run
            path.mkdir()
            trial = TrialCfg.of(
                setting,
                controller="fixed",
                posture=posture,
                duration_s=seconds,
                fast_forward=jumps,
                folder=path,
            )
            run_trial(trial)
            return path

        full = stand("full", cfg.seconds, None)
        frame = sensors_of(read_run(full).frame.astype(np.float64).reset_index())
        found = []
        for i in numbers:
            kind = cfg.kinds[i % len(cfg.kinds)]
            if kind == FAST:
                source = stand(FAST, FAST_S, FastForwardCfg())
            else:
                source = Path(base) / "log.csv"
                rng = np.random.default_rng([cfg.seed, i])
                FAULTS[kind](frame.copy(), robot, rng).to_csv(source, index=False)
            true_deg = dict(setting.misalignment_deg)
            if kind == SWAPPED:  # names are those of the log
                legs = robot.leg_joints
                other = (*legs[len(legs) // 2 :], *legs[: len(legs) // 2])
                names = dict(zip(legs, other, strict=True))
                true_deg = {names[joint]: deg for joint, deg in true_deg.items()}
            one = LogResult(robot=name, kind=kind, true_deg=true_deg)
            found.append(_answer(one, source, robot))
        return found


def _answer(one: LogResult, source: Path, robot: Robot) -> LogResult:
    """Return the result with the answer of the X-ray."""
    try:
        found = xray(XrayCfg(source=source), robot)
    except BadInput as error:
        return replace(one, refused=str(error).replace(str(source.parent), ""))
    answered = replace(one, named=found.named, is_explained=found.is_explained)
    for joint, true in one.true_deg.items():
        if joint in found.named:
            off = found.suspects.error_of(joint)
            answered = replace(
                answered,
                inside=off.low_deg <= true <= off.high_deg,
                width_deg=off.high_deg - off.low_deg,
            )
    return answered


def summary(cfg: CalibrationCfg, found: Sequence[LogResult]) -> list[DataTable]:
    """Return a table of the kinds of logs, and one of the stated probabilities."""
    rows = []
    for kind in cfg.kinds:
        of = [one for one in found if one.kind == kind]
        named = [one for one in of if one.named]
        counts = (
            len(of),
            sum(not one.is_false for one in named),
            sum(one.is_false for one in named),
            sum(not one.named and not one.refused for one in of),
            sum(bool(one.refused) for one in of),
        )
        rows.append((kind, *map(str, counts)))
    heads = ("log", "logs", "right", "false", "no name", "refused")
    kinds = DataTable.of("Headlines by kind of log", heads, rows, texts=(0,))
    stated_rows = []
    for low, high in ((0.7, 0.85), (0.85, 0.95), (0.95, 0.99), (0.99, 1.01)):
        stated = [
            (p, name in one.true_deg)
            for one in found
            for name, p in one.named.items()
            if low < p <= high
        ]
        right = sum(is_right for _, is_right in stated)
        mean = f"{np.mean([p for p, _ in stated]):.0%}" if stated else ""
        share = f"{right / len(stated):.0%}" if stated else ""
        stated_rows.append(
            (
                f"{low:.0%} to {min(high, 1.0):.0%}",
                str(len(stated)),
                mean,
                str(right),
                share,
            )
        )
    inside = []
    for name in cfg.robots:
        of_robot = [one.inside for one in found if one.robot == name]
        known = [one for one in of_robot if one is not None]
        inside.append(f"{sum(known)} of {len(known)} ({name})")
    note = (
        "The 95 % interval of a correctly named joint contains its error: "
        f"{', '.join(inside)}."
    )
    stated_heads = ("stated", "names", "mean stated", "right", "share")
    title = "Stated probabilities, and share of right names"
    return [kinds, DataTable.of(title, stated_heads, stated_rows, note)]


def run_calibration(cfg: CalibrationCfg, json_file: str | None) -> int:
    """Run all logs, print the tables, write JSON; return the exit status."""
    check_json_file(json_file)
    work = Parallel(n_jobs=processors(), return_as="generator")
    found: list[LogResult] = []
    console = console_for(json_file)
    with count_bar("logs", cfg.logs) as tell:
        robots = range(-(-cfg.logs // LOGS_OF_A_ROBOT))
        for some in work(delayed(run_robot)(cfg, k) for k in robots):
            found += some
            tell(len(found), cfg.logs, "logs")
            results = [vars(one) for one in found]
            write_json(
                json_file,
                json_text(
                    {
                        "experiment": "xray-calibration",
                        "seed": cfg.seed,
                        "logs": results,
                    }
                ),
            )
    for table in summary(cfg, found):
        console.print(table)
    return 0


if __name__ == "__main__":
    run_study("xray-calibration")
