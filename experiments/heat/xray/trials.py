"""Trials of the X-ray on simulated robots with known joint errors.

    nao-testbed xray --trials 50 --seed 1

Each robot stands in the simulator with some random misalignments of leg joints; the
X-ray reads only the sensors in its run folder. Then the suspected set-point is moved by
the reported error, and the saving is measured. The truth comes from the simulator
(`experiments.closed_loop.leg_forces`).
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from nao_testbed.controllers.interface.controller import (
    ControllerWrapper,
    FixedStiffness,
    Limits,
)
from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.closed_loop.leg_forces import StandingLoss
from nao_testbed.experiments.closed_loop.loop import Loop, run_for
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.warm_up import warn_before_run, warn_of_fall
from nao_testbed.experiments.common.drawing.number_text import number
from nao_testbed.experiments.common.drawing.page import Column, DataTable, Row
from nao_testbed.experiments.common.drawing.power_unit import PowerUnit, power_unit
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, count_bar
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD, RobotSetting
from nao_testbed.experiments.common.signals import exit_status, stop_reason
from nao_testbed.experiments.heat.xray.standing_model import Assumptions
from nao_testbed.experiments.heat.xray.suspects import (
    FLOOR_CAUSES,
    LOAD_CAUSE,
    Suspects,
)
from nao_testbed.experiments.heat.xray.verdict import NAMED
from nao_testbed.experiments.heat.xray.xray import XrayCfg, xray
from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.models.robot import are_watts_guesses
from nao_testbed.models.system import processors
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.robot import SimulatedRobot

SMALLEST_DEG, LARGEST_DEG = 0.5, 2.0
"""Range of the size of an error in degrees, of either sign."""
STEEPEST_DEG = 3.0
"""Largest slope in degrees; half of the robots stand on a slope."""
LEVEL_DEG = 0.2
"""Slope in degrees below which a floor counts as level."""
FRICTION_RANGE = (0.3, 3.0)
"""Range of the factor on gear friction, with a uniformly distributed logarithm."""
LOAD_RANGE_KG = (0.05, 0.5)
"""Range of the load of half of the robots, on a link of `loads` or on the base."""
MEASURED_S = 3.0
"""Averaging time of the true power at the end, in s."""
MOVED_S, MOVE_DEG_S = 8.0, 0.5
"""Standing time in s while and after a set-point moves at this speed in °/s: a jump
makes the robot rock, which releases the friction of its gears."""
SIZE_DEG, SHARE = 0.3, 0.1
"""Tolerances of a correct result: error in degrees, and relative error of a power."""
RIGHT_W, RIGHT_SHARE = 0.05, 0.02
"""Smallest tolerance of a correct power: in W, or as a fraction of the heat of the legs
if motor constants are guesses."""


@dataclass(frozen=True, kw_only=True)
class TrialsCfg:
    """Options; see `nao-testbed xray --help`."""

    robots: int
    seed: int = 0
    joints_off: int = 1
    seconds: float = 15.0
    """Length of each log in s."""
    robot: Path
    posture: str | None = None
    engine: EngineName | None = None
    varied: bool = False
    """True: floor, gear friction and load are random too, and 1, 2 and 3 joints are
    misaligned in turn, regardless of `joints_off`."""
    assumptions: Assumptions

    def __post_init__(self) -> None:
        """Validate the options.

        Raises:
            BadInput: a number is out of its range.
        """
        if self.robots < 1:
            raise BadInput(f"--trials is {self.robots}; give at least 1.")
        if self.seed < 0:
            raise BadInput(f"--seed is {self.seed}; give a whole number from 0 up.")
        if not 0 <= self.joints_off <= 12:
            raise BadInput(f"--joints-off is {self.joints_off}; give 0 to 12.")
        if not 8.0 <= self.seconds <= 3600.0:
            raise BadInput(f"--seconds is {self.seconds}; give 8 to 3600.")


@dataclass(frozen=True, kw_only=True)
class Watts:
    """Power from the X-ray and from the simulator."""

    said: float
    true: float
    tolerance: float = RIGHT_W
    """Smallest tolerance in W."""

    @property
    def is_right(self) -> bool:
        """True if both agree within 10 %, or the smallest tolerance."""
        error = abs(self.said - self.true)
        return error <= max(SHARE * abs(self.true), self.tolerance)


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Diagnosis of one robot."""

    number: int
    true_deg: Mapping[str, float]
    said_deg: Mapping[str, float]
    """Joint of the best explanation to its error in degrees."""
    first: str | None = None
    """Most likely joint; None: no X-ray."""
    probability: float = 0.0
    """Probability of the best explanation."""
    inside: Mapping[str, bool]
    """True, by misaligned and named joint, if its interval contains the error."""
    named: Mapping[str, tuple[float, bool]] = field(default_factory=dict)
    """Cause named in the headline to its probability, and True if it is a true
    cause."""
    rivals: int = 0
    heat: Watts | None = None
    needed: Watts | None = None
    useless: Watts | None = None
    saved: Watts | None = None
    """Saving by moving the set-point."""
    took_s: float = 0.0
    why: str | None = None
    """Reason for a missing X-ray: the robot fell, or moved until the end."""

    @property
    def is_named(self) -> bool:
        """True if exactly the misaligned joints were named."""
        return self.why is None and set(self.said_deg) == set(self.true_deg)

    @property
    def is_sized(self) -> bool:
        """True if they were named, and all sizes are within 0.3°."""
        return self.is_named and all(
            abs(self.said_deg[name] - true) <= SIZE_DEG
            for name, true in self.true_deg.items()
        )


class _MovesSetPoint(ControllerWrapper):
    """Controller with stiffness 1 that can shift set-points slowly."""

    _goal: FloatArray | None = None
    _shift: FloatArray | None = None

    def move(self, shift: FloatArray) -> None:
        self._goal, self._shift = shift, np.zeros_like(shift)

    def step(self, observation: Observation) -> Limits:
        limits = super().step(observation)
        if self._goal is None or self._shift is None:
            return limits
        step = np.deg2rad(MOVE_DEG_S) * CONTROL_PERIOD
        self._shift = self._shift + np.clip(self._goal - self._shift, -step, step)
        return replace(limits, shift=self._shift)


def drawn_setting(robot: Robot, cfg: TrialsCfg, k: int) -> RobotSetting:
    """Return the random setting of robot `k` with its misaligned joints."""
    rng = np.random.default_rng([cfg.seed, k])
    count = 1 + k % 3 if cfg.varied else cfg.joints_off
    joints = rng.choice(robot.leg_joints, count, replace=False)
    sizes = rng.uniform(SMALLEST_DEG, LARGEST_DEG, count)
    signs = rng.choice([-1.0, 1.0], count)
    setting = RobotSetting(
        robot=cfg.robot,
        posture=cfg.posture,
        misalignment_deg={
            str(name): float(sign * size)
            for name, sign, size in zip(joints, signs, sizes, strict=True)
        },
        engine=cfg.engine,
        seed=1000 * cfg.seed + k,
    )
    if not cfg.varied:
        return setting
    slope_deg = 0.0
    if rng.random() < 0.5:
        slope_deg = float(rng.uniform(-STEEPEST_DEG, STEEPEST_DEG))
    low, high = np.log(FRICTION_RANGE)
    gear_friction = float(np.exp(rng.uniform(low, high)))
    payload_kg = {}
    if rng.random() < 0.5:
        link = str(rng.choice(robot.roles.loads or (robot.links[0].name,)))
        payload_kg[link] = float(rng.uniform(*LOAD_RANGE_KG))
    return replace(
        setting,
        slope_deg=slope_deg,
        gear_friction=gear_friction,
        payload_kg=payload_kg,
    )


def run_one(cfg: TrialsCfg, k: int) -> Diagnosis:
    """Simulate robot `k`, X-ray its log, and move the suspected set-point."""
    robot = load_robot(cfg.robot)
    setting = drawn_setting(robot, cfg, k)
    errors = dict(setting.misalignment_deg)
    posture = setting.posture_of(robot)
    sim = SimulatedRobot(robot, setting.simulation(), posture)
    controller = _MovesSetPoint(FixedStiffness())
    try:
        loop = Loop(sim, controller, robot.posture(posture).angles)
        with tempfile.TemporaryDirectory() as folder:
            square = _record(loop, Path(folder), cfg.seconds, setting)
            if sim.has_fallen():
                return Diagnosis(
                    number=k, true_deg=errors, said_deg={}, inside={}, why="fell"
                )
            begin = time.perf_counter()
            try:
                found = xray(
                    XrayCfg(source=Path(folder), assumptions=cfg.assumptions), robot
                )
            except BadInput as error:
                return Diagnosis(
                    number=k, true_deg=errors, said_deg={}, inside={}, why=str(error)
                )
            took_s = time.perf_counter() - begin
        truth = StandingLoss(sim)
        heat_w = float(truth.loss @ square)
        solved = truth.solve()
        needed_w = solved[1].loss_w if solved else np.nan
        said = found.losses
        watts = partial(Watts, tolerance=_tolerance(robot, heat_w))
        saved = None
        if found.saving is not None:
            shift = np.zeros(len(robot.joints))
            place = robot.joint_index(found.saving.joint)
            shift[place] = np.deg2rad(found.saving.set_point_deg)
            sharing = robot.servo_of_joint == robot.servo_of_joint[place]
            shift[sharing] = shift[place]
            controller.move(shift)
            after = _stand(loop, MOVED_S)
            saved = watts(
                said=found.saving.saved_w, true=heat_w - float(truth.loss @ after)
            )
        suspects = found.suspects
        chance = {name: suspects.probability_of(name) for name in suspects.by_joint}
        return Diagnosis(
            number=k,
            true_deg=errors,
            said_deg={
                e.joint: e.degrees for e in suspects.best.errors if e.joint in chance
            },
            named={
                name: (p, _is_true_cause(name, setting, suspects))
                for name, p in found.named.items()
            },
            first=max(chance, key=lambda name: chance[name]),
            probability=suspects.best.probability,
            inside={
                e.joint: e.low_deg <= errors[e.joint] <= e.high_deg
                for e in map(suspects.error_of, suspects.best.joints)
                if e.joint in errors
            },
            rivals=len(suspects.rivals),
            heat=watts(said=said.loss_w, true=heat_w),
            needed=watts(said=said.needed_w, true=needed_w),
            useless=watts(said=said.useless_w, true=heat_w - needed_w),
            saved=saved,
            took_s=took_s,
        )
    finally:
        sim.close()


def _tolerance(robot: Robot, heat_w: float) -> float:
    return RIGHT_SHARE * heat_w if are_watts_guesses(robot.thermal) else RIGHT_W


def _is_true_cause(name: str, setting: RobotSetting, suspects: Suspects) -> bool:
    """Return True if a named cause is true; equal ankle errors count as a slope."""
    off = setting.misalignment_deg
    if name == LOAD_CAUSE:
        return bool(setting.payload_kg)
    pair = suspects.ankles.get(name)
    if pair is None:
        return name in off
    slopes = name == FLOOR_CAUSES[0] and abs(setting.slope_deg) > LEVEL_DEG
    return slopes or (bool(pair) and {*pair} <= off.keys())


def _record(
    loop: Loop[SimulatedRobot], folder: Path, seconds: float, setting: RobotSetting
) -> FloatArray:
    """Simulate and record a standing robot; return its final mean squared torques."""
    sim = loop.sim
    recording = RunRecording.open(
        folder,
        sim.robot,
        seed=setting.seed,
        config=setting,
        command=(),
        experiment="xray",
    )
    with recording.close_on_error():
        square = _stand(loop, seconds, recording)
    recording.close("done")
    return square


def _stand(
    loop: Loop[SimulatedRobot], seconds: float, recording: RunRecording | None = None
) -> FloatArray:
    """Simulate a standing robot; return its final mean squared torques, (n_motors,)."""
    sim = loop.sim
    measured_from_s = sim.time_s + seconds - MEASURED_S
    total, n = np.zeros_like(sim.mean_square), 0

    def visit(observation: Observation) -> None:
        nonlocal total, n
        if recording is not None:
            recording.row(sim, observation, loop.decided)
        if sim.time_s > measured_from_s:
            total, n = total + sim.mean_square, n + 1

    run_for(loop, seconds, visit)
    return total / n


def run_trials(cfg: TrialsCfg, jobs: int) -> Iterator[Diagnosis]:
    """Yield the diagnosis of each robot, in order."""
    work = Parallel(n_jobs=jobs, return_as="generator")
    yield from work(delayed(run_one)(cfg, k) for k in range(cfg.robots))


def outcome_table(cfg: TrialsCfg, found: Sequence[Diagnosis]) -> DataTable:
    """Return a table with one row per robot."""
    rows, thermal = [], load_robot(cfg.robot).thermal
    legs = power_unit(thermal, "true heat of the legs", None, symbol="%")
    for one in found:
        if one.why is not None:
            said = one.why.splitlines()[0][:60]
            rows.append(
                Row(cells=(str(one.number), _errors(one.true_deg), said, *[""] * 5))
            )
            continue
        heat_w = None if one.heat is None else one.heat.true
        unit = power_unit(thermal, legs.whole, heat_w, symbol="%")
        rows.append(
            Row(
                cells=(
                    str(one.number),
                    _errors(one.true_deg),
                    _errors(one.said_deg) or "none",
                    f"{one.probability:.0%}",
                    *(
                        _both(unit, w)
                        for w in (one.heat, one.needed, one.useless, one.saved)
                    ),
                )
            )
        )
    return DataTable(
        caption=f"X-ray of {cfg.robots} robots, seed {cfg.seed}; diagnosis (truth)",
        columns=(
            Column(label="robot"),
            Column(label="true errors", is_number=False),
            Column(label="diagnosis", is_number=False),
            Column(label="probability"),
            *(
                Column(label=label, unit=legs.symbol)
                for label in ("heat", "needed", "useless", "saved")
            ),
        ),
        rows=tuple(rows),
        note=legs.note,
    )


def _both(unit: PowerUnit, watts: Watts | None) -> str:
    """Return the power from the X-ray, and the true one in brackets."""
    if watts is None:
        return ""
    digits = 1 if unit.is_relative else 2
    return f"{unit.of(watts.said):.{digits}f} ({unit.of(watts.true):.{digits}f})"


def summary_table(cfg: TrialsCfg, found: Sequence[Diagnosis]) -> DataTable:
    """Return a table of the success rates of the X-ray."""
    seen = [one for one in found if one.why is None]
    n = len(found)
    named = [one for one in seen if one.is_named]
    is_inside = [inside for one in named for inside in one.inside.values()]

    def of(items: Sequence[bool]) -> str:
        share = f" ({sum(items) / len(items):.0%})" if items else ""
        return f"{sum(items)} of {len(items)}{share}"

    def right(watts: Callable[[Diagnosis], Watts | None]) -> str:
        known = [w for w in map(watts, seen) if w is not None]
        return of([w.is_right for w in known])

    tolerance = f"{RIGHT_W:g} W"
    if are_watts_guesses(load_robot(cfg.robot).thermal):
        tolerance = f"{100.0 * RIGHT_SHARE:g} % of the heat of the legs"
    missed = [False] * (n - len(seen))
    rows = [
        ("robots diagnosed", of([True] * len(seen) + missed)),
        ("exactly the true joints named", of([o.is_named for o in seen] + missed)),
        (
            f"and all errors within {SIZE_DEG:g}°",
            of([o.is_sized for o in seen] + missed),
        ),
        ("most likely joint is misaligned", of([o.first in o.true_deg for o in seen])),
        ("95 % interval contains the error", of(is_inside)),
        ("headline names a false cause", of([_names_wrong_cause(o) for o in seen])),
        *(
            (f"correct at {low:.0%} to {high:.0%}", of(_correct_in(seen, low, high)))
            for low, high in CONFIDENCE_BINS
        ),
        (f"heat of the legs within {SHARE:.0%}", right(lambda o: o.heat)),
        ("needed power", right(lambda o: o.needed)),
        ("useless power", right(lambda o: o.useless)),
        ("power saved by the set-point", right(lambda o: o.saved)),
    ]
    if seen:
        slowest = max(o.took_s for o in seen)
        middle = median(o.took_s for o in seen)
        rows.append(
            ("computing time, s", f"median {number(middle)}, max {number(slowest)}")
        )
    varied = (
        f"Half on slopes up to {STEEPEST_DEG:g}°, half with a load up to "
        f"{LOAD_RANGE_KG[1]:g} kg, gear friction {FRICTION_RANGE[0]:g} to "
        f"{FRICTION_RANGE[1]:g} times that of the model. "
    ) * cfg.varied
    count = "1 to 3" if cfg.varied else cfg.joints_off
    note = (
        f"{count} leg joint(s) misaligned by {SMALLEST_DEG:g} to {LARGEST_DEG:g}°; "
        f"logs of {cfg.seconds:g} s; feet {cfg.assumptions.feet}. {varied}Powers are "
        f"correct within 10 % or {tolerance}."
    )
    return DataTable(
        caption="Accuracy",
        columns=(
            Column(label="", is_number=False),
            Column(label="robots", is_number=False),
        ),
        rows=tuple(Row(cells=cells) for cells in rows),
        note=note,
    )


CONFIDENCE_BINS = ((NAMED, 0.9), (0.9, 0.99), (0.99, 1.0))
"""Ranges of stated probabilities, for a count of correct statements in each."""


def _names_wrong_cause(one: Diagnosis) -> bool:
    return not all(is_so for _, is_so in one.named.values())


def _correct_in(found: Sequence[Diagnosis], low: float, high: float) -> list[bool]:
    named = [item for one in found for item in one.named.values()]
    return [is_so for chance, is_so in named if low < chance <= high]


def _errors(degrees: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:+.2f}°" for name, value in degrees.items())


def run_trials_command(cfg: TrialsCfg, json_file: str | None) -> int:
    """Run the trials, print both tables; return the exit status.

    Raises:
        BadInput: a value is invalid, or a file cannot be written.
    """
    robot = load_robot(cfg.robot)
    setting = drawn_setting(robot, cfg, 0)
    setting.check(robot)
    check_json_file(json_file)
    warn_before_run()
    warn_of_fall(robot, setting.posture_of(robot), setting.simulation())
    found: list[Diagnosis] = []
    status = 0
    try:
        with count_bar("robots", cfg.robots) as tell:
            for one in run_trials(cfg, min(cfg.robots, processors())):
                found.append(one)
                tell(len(found), cfg.robots, "robots")
    except KeyboardInterrupt as stop:
        print(f"{stop_reason(stop)}; {len(found)} robots.", file=sys.stderr)
        status = exit_status(stop)
    console = console_for(json_file, width=120)
    console.print(outcome_table(cfg, found))
    console.print(summary_table(cfg, found))
    write_json(json_file, json_text(_as_json(cfg, found)))
    return status


def _as_json(cfg: TrialsCfg, found: Sequence[Diagnosis]) -> dict[str, Any]:
    return {
        "experiment": "xray-trials",
        "seed": cfg.seed,
        "joints_off": None if cfg.varied else cfg.joints_off,
        "varied": cfg.varied,
        "seconds": cfg.seconds,
        "feet": cfg.assumptions.feet,
        "trials": [
            asdict(one) | {"is_named": one.is_named, "is_sized": one.is_sized}
            for one in found
        ],
    }
