"""Hand guiding: force at a wrist or another link that moves the link by 5 cm.

People may touch a compliant robot: less stiffness is *ergonomics* [ES2659053T3, ¶2].
A hand pulls on a link of a robot that holds its posture,

    F = r t,  slowly,    until    |x(t) - x(0)| >= d,

and then releases it; the hand pulls at x, the link's centre of mass in the world. The
results are F, the displacement of the torso, the final distance of the link from its
place, and whether a controller classified the hand as a push (flag CATCHING).

With a rigid torso, the weakest joint of a chain limits its force,

    F = min_i (k_i τ_i + φ_i - g_i sgn) / |J_i|,

with stiffness k, torque limit τ, gear friction φ, weight g and lever J. Below that
force the servos yield by (q* - q) τ_max / k_p, 1 to 2 cm at the wrist of a NAO.

    python -m studies.hand_guiding --controllers fixed,smart
"""

import dataclasses
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.interface.controller import SensorError
from nao_testbed.controllers.registry import check_controllers, make_controller
from nao_testbed.controllers.stiffness.flags import StiffnessFlag
from nao_testbed.experiments.closed_loop.loop import Loop, run_for
from nao_testbed.experiments.closed_loop.warm_up import warn_before_run
from nao_testbed.experiments.common.drawing.number_text import NOTHING, number
from nao_testbed.experiments.common.drawing.page import (
    Column,
    DataTable,
    Row,
    text_columns,
)
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, count_bar
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.common.signals import exit_status, stop_reason
from nao_testbed.models import BadInput, Robot, UnknownName, load_robot
from nao_testbed.models.system import processors
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body import SimulationDiverged
from nao_testbed.sim.robot import SimulatedRobot
from studies.commands import (
    PullDistance,
    PulledRobots,
    PullForce,
    PullRate,
    PullSpread,
    run_study,
)

DIRECTIONS: Mapping[str, tuple[float, float, float]] = {
    "ahead": (1.0, 0.0, 0.0),
    "back": (-1.0, 0.0, 0.0),
    "outward": (0.0, 1.0, 0.0),
    "inward": (0.0, -1.0, 0.0),
    "up": (0.0, 0.0, 1.0),
    "down": (0.0, 0.0, -1.0),
}
"""World directions for a link on the robot's left; y is mirrored for the right."""
CONTROLLERS = ("fixed", "smart", "minheat")
SETTLE_S = 5.0
RELEASE_S = 3.0
"""Time in s between the release and the measurement of the link."""


@dataclass(frozen=True, kw_only=True)
class GuidingCfg(Checked):
    """Settings of robot and pull."""

    controllers: tuple[str, ...]
    setting: RobotSetting
    links: tuple[str, ...] = ()
    """Pulled links; empty: those of `default_links`."""
    distance_m: PullDistance = 0.05
    rate: PullRate = 2.0
    """Rate of the force in N/s."""
    most_n: PullForce = 30.0
    """Largest force of a pull, in N."""
    robots: PulledRobots = 1
    spread_deg: PullSpread = 1.0
    """Largest extra misalignment of each joint (uniform), from the second robot on."""

    def of_robot(self, number: int, robot: Robot) -> RobotSetting:
        """Return the settings of one robot; robot 0 has the configured ones."""
        if number == 0:
            return self.setting
        draws = np.random.default_rng((self.setting.seed, number))
        spread = self.spread_deg
        off = draws.uniform(-spread, spread, len(robot.joints))
        given = self.setting.misalignment_deg
        return dataclasses.replace(
            self.setting,
            seed=self.setting.seed + number,
            misalignment_deg={
                joint: given.get(joint, 0.0) + float(degrees)
                for joint, degrees in zip(robot.joint_names, off, strict=True)
            },
        )


@dataclass(frozen=True, kw_only=True)
class Pull:
    """One pull: link, direction, controller and robot."""

    controller: str
    link: str
    direction: str
    robot: int
    """Number of the robot; 0 has no additional misalignment."""


@dataclass(frozen=True, kw_only=True)
class PullResult:
    """Result of one pull."""

    pull: Pull
    end: Literal["moved", "held", "fell", "failed"]
    """End of the pull; `fell` below also covers falls after it."""
    force_n: float | None = None
    """Final force of the pull, in N; None: a fall before the pull, or a failure."""
    torso_m: float | None = None
    """Displacement of the base at the end of the pull, in m."""
    left_m: float | None = None
    """Distance of the link from its place `RELEASE_S` after its release, in m."""
    fell: bool = False
    is_caught: bool = False
    """True if the controller classified the hand as a push."""
    why: str | None = None
    """Reason of a failure."""


def default_links(robot: Robot) -> tuple[str, ...]:
    """Return the default links of a pull.

    These are the links of the role `grips`; without it, the last links of all chains
    except the legs, or the base.
    """
    if robot.roles.grips:
        return robot.roles.grips
    inner = {joint.parent for joint in robot.joints}
    ends = (
        joint.link
        for joint in robot.joints
        if joint.link not in inner and joint.name not in robot.leg_joints
    )
    return tuple(ends) or (robot.base_link,)


def check_guiding(cfg: GuidingCfg) -> tuple[Robot, GuidingCfg]:
    """Check a configuration; return its robot and the pulled links.

    Raises:
        BadInput: a controller, link or value cannot be used.
    """
    robot = load_robot(cfg.setting.robot)
    cfg.setting.check(robot)
    check_controllers(cfg.controllers, robot)
    known = [link.name for link in robot.links]
    links = cfg.links or default_links(robot)
    for link in links:
        if link not in known:
            raise UnknownName("Link", link, known, f"robot {robot.name!r}")
    if len(set(links)) != len(links):
        raise BadInput(f"links are {', '.join(links)}; give each once.")
    return robot, dataclasses.replace(cfg, links=links)


def run_pull(cfg: GuidingCfg, pull: Pull) -> PullResult:
    """Wait until a robot has settled, pull it, and release it."""
    robot = load_robot(cfg.setting.robot).with_effort_limits(cfg.setting.effort_limits)
    setting = cfg.of_robot(pull.robot, robot)
    posture = setting.posture_of(robot)
    with closing(SimulatedRobot(robot, setting.simulation(), posture)) as sim:
        controller = make_controller(pull.controller)
        goal = robot.posture(posture).angles
        loop = Loop(sim, controller, goal, setting.control_period)
        hand = _Hand(sim, pull, cfg)
        try:
            run_for(loop, SETTLE_S)
            if sim.has_fallen():
                return PullResult(pull=pull, end="fell", fell=True)
            hand.grasp()
            caught = _caught(controller)
            loop.disturb = hand.pull
            while (end := hand.end()) is None:
                loop.cycle()
            loop.disturb = None
            force_n, torso_m = hand.force_n, hand.torso_m()
            is_caught = _caught(controller) > caught
            run_for(loop, RELEASE_S)
        except (SimulationDiverged, SensorError) as error:
            return PullResult(pull=pull, end="failed", why=str(error))
        fell = sim.has_fallen()
        return PullResult(
            pull=pull,
            end=end,
            force_n=force_n,
            torso_m=torso_m,
            left_m=None if fell else hand.moved_m(),
            fell=fell,
            is_caught=is_caught,
        )


def _caught(controller: object) -> int:
    counts: Mapping[str, int] = getattr(controller, "flag_counts", {})
    return counts.get(str(StiffnessFlag.CATCHING.name), 0)


class _Hand:
    """Hand that grasps a link and pulls with growing force."""

    def __init__(self, sim: SimulatedRobot, pull: Pull, cfg: GuidingCfg) -> None:
        self._sim = sim
        self._link = pull.link
        self._cfg = cfg
        self._along = np.array(DIRECTIONS[pull.direction])
        self._step_n = cfg.rate * sim.dt
        self.force_n = 0.0

    def grasp(self) -> None:
        """Grasp the link at its present position."""
        self._place = self._position()
        self._base = self._sim.truth().base_position
        if self._place[1] < self._base[1]:
            self._along[1] *= -1.0

    def pull(self, sim: SimulatedRobot) -> None:
        """Pull for one tick, with slightly more force than before."""
        self.force_n += self._step_n
        sim.push_com(self._link, self.force_n * self._along)

    def end(self) -> Literal["moved", "held", "fell"] | None:
        """Return the end of the pull as text; None: it continues."""
        if self._sim.has_fallen():
            return "fell"
        if self.moved_m() >= self._cfg.distance_m:
            return "moved"
        return "held" if self.force_n >= self._cfg.most_n else None

    def moved_m(self) -> float:
        """Return the distance of the link from its position at the grasp, in m."""
        return float(np.linalg.norm(self._position() - self._place))

    def torso_m(self) -> float:
        """Return the distance of the base from its position at the grasp, in m."""
        return float(np.linalg.norm(self._sim.truth().base_position - self._base))

    def _position(self) -> FloatArray:
        return self._sim.engine.link_com(self._link)


def pulls(cfg: GuidingCfg, jobs: int) -> Iterator[PullResult]:
    """Run all pulls in parallel; yield the results in the order of the controllers."""
    every = product(range(cfg.robots), cfg.controllers, cfg.links, DIRECTIONS)
    work = Parallel(n_jobs=jobs, return_as="generator")
    yield from work(
        delayed(run_pull)(
            cfg,
            Pull(controller=controller, link=link, direction=direction, robot=robot),
        )
        for robot, controller, link, direction in every
    )


def guiding_table(cfg: GuidingCfg, found: Sequence[PullResult]) -> DataTable:
    """Return the table of forces: one row per direction, one column per controller."""

    def row(label: str, text: Callable[[list[PullResult]], str], **wanted: str) -> Row:
        cells = []
        for name in cfg.controllers:
            of_it = [
                one
                for one in found
                if one.pull.controller == name
                and all(getattr(one.pull, key) == word for key, word in wanted.items())
            ]
            cells.append(text(of_it))
        return Row(cells=(label, *cells))

    rows = [row(name, _force, direction=name) for name in DIRECTIONS]
    rows += [
        row("all directions", _force),
        row("base displacement, cm", lambda of: _cm(one.torso_m for one in of)),
        row(
            f"link displacement {RELEASE_S:g} s after, cm",
            lambda of: _cm(one.left_m for one in of),
        ),
        row("fell", lambda of: str(sum(one.fell for one in of))),
        row("mistaken for a push", lambda of: str(sum(one.is_caught for one in of))),
        row("pulls", lambda of: str(len(of))),
    ]
    return DataTable(
        caption=f"Force at {' and '.join(cfg.links)} for a displacement of "
        f"{100 * cfg.distance_m:g} cm, in N",
        columns=(
            *text_columns("direction"),
            *(Column(label=name) for name in cfg.controllers),
        ),
        rows=tuple(rows),
        note=f"Median (range) of {len(cfg.links)} links of {cfg.robots} robots, at "
        f"{cfg.rate:g} N/s; > exceeds the largest force. A base displacement "
        "above 1 cm means that the robot tips.",
    )


def _force(of: Sequence[PullResult]) -> str:
    """Return median and range; a link that did not move needs more than `most_n`."""
    most = max((one.force_n for one in of if one.force_n is not None), default=0.0)
    forces = (
        math.inf if one.end == "held" else one.force_n
        for one in of
        if one.end != "fell"
    )
    return _spread(forces, lambda x: number(x) if x < math.inf else f"> {most:.0f}")


def _cm(values: Iterable[float | None]) -> str:
    return _spread(values, lambda x: number(100.0 * x))


def _spread(values: Iterable[float | None], text: Callable[[float], str]) -> str:
    """Return median, minimum and maximum of the values that are not None, as text."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return NOTHING
    middle = text(median(known))
    if len(known) == 1:
        return middle
    return f"{middle} ({text(known[0])} to {text(known[-1])})"


def run_hand_guiding_command(cfg: GuidingCfg, json_file: str | None) -> int:
    """Run all pulls and print the table; return the exit status.

    Raises:
        BadInput: a value cannot be used, or a file cannot be written.
    """
    robot, cfg = check_guiding(cfg)
    check_json_file(json_file)
    warn_before_run()
    found: list[PullResult] = []
    total = cfg.robots * len(cfg.controllers) * len(cfg.links) * len(DIRECTIONS)
    status = 0
    try:
        with count_bar("pulls", total) as tell:
            for one in pulls(cfg, min(total, processors())):
                found.append(one)
                tell(len(found), total, "pulls")
    except KeyboardInterrupt as stop:
        print(f"{stop_reason(stop)}; {len(found)} of {total} pulls.", file=sys.stderr)
        status = exit_status(stop)
    console_for(json_file).print(guiding_table(cfg, found))
    write_json(json_file, json_text(_as_json(cfg, robot, found)))
    failed = {one.why for one in found if one.why is not None}
    for why in sorted(failed):
        print(f"failed: {why}", file=sys.stderr)
    return status or (1 if failed else 0)


def _as_json(
    cfg: GuidingCfg, robot: Robot, found: Sequence[PullResult]
) -> dict[str, Any]:
    return {
        "experiment": "hand-guiding",
        "robot": robot.name,
        "posture": cfg.setting.posture_of(robot),
        "seed": cfg.setting.seed,
        "distance_m": cfg.distance_m,
        "rate_n_per_s": cfg.rate,
        "robots": cfg.robots,
        "spread_deg": cfg.spread_deg,
        "pulls": [vars(one) | {"pull": vars(one.pull)} for one in found],
    }


if __name__ == "__main__":
    run_study("hand-guiding")
