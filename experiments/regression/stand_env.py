"""Gymnasium environment: a robot stands, and its heat is part of the reward.

    import nao_testbed.gym  # registers it

    env = gymnasium.make("nao_testbed/Stand-v0", robot="g1")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)

A step is one period of a policy in the closed loop: the action becomes set-points, as
for a policy in an ONNX file, and the observation has the terms of the same layout. An
exported network therefore runs by `heat --policy FILE.onnx+layout=FILE.yaml`.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.controllers.interface.controller import Limits
from nao_testbed.controllers.interface.robot_interface import (
    Observation,
    ServoGains,
    own_gains,
)
from nao_testbed.controllers.policies.layout import (
    FittedLayout,
    PolicyLayout,
    layout_from,
    read_layout,
)
from nao_testbed.controllers.policies.terms import ObservationVector
from nao_testbed.experiments.closed_loop.leg_forces import StandingLoss
from nao_testbed.experiments.closed_loop.loop import Loop
from nao_testbed.experiments.closed_loop.trial import TrialCfg, pusher
from nao_testbed.experiments.closed_loop.trial_result import SHUT_DOWN_DEGC
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.figures.posed_robot import FROM, Pose, aim, dressed
from nao_testbed.experiments.heat.figures.posed_robot import outline as outline_of
from nao_testbed.experiments.heat.figures.robot_view import colours_of
from nao_testbed.experiments.sweep.spec import SweepSpec
from nao_testbed.experiments.sweep.spec_file.read_spec import read_spec
from nao_testbed.models import BadInput, Robot, UnknownName, load_robot
from nao_testbed.models.folders import find_robot_folder
from nao_testbed.models.values import FloatArray, as_numbers, short
from nao_testbed.sim.body import SimulationDiverged
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from nao_testbed.sim.engine.world import Camera, ticks_of
from nao_testbed.sim.robot import SimulatedRobot
from nao_testbed.sim.sensors.drawing.drawing import DrawnRobot
from nao_testbed.sim.sensors.drawing.meshes import drum_of
from nao_testbed.sim.thermal.training import barrier

WEIGHTS = {"upright": 1.0, "heat": -0.005, "useless": -0.01, "barrier": -0.1}
"""Weights of the reward's terms: of the upward component of the base's axis, of the
loss of all motors in W, of its avoidable part in W, and of the barrier at the limit."""
WHERE = "the layout"
PICTURE = 480
"""Height and width of a picture, in pixels."""


class Setpoints:
    """Controller whose set-points come from outside."""

    name = "action"

    def __init__(self, target: FloatArray, gains: ServoGains | None) -> None:
        """Start with set-points (n_joints,) in rad."""
        self.target = target
        """(n_joints,) set-points of the next cycles, in rad."""
        self._gains = gains
        self._stiffness = np.ones(len(target))

    def reset(self, robot: Robot) -> None:
        """Keep the set-points."""

    def step(self, observation: Observation) -> Limits:  # noqa: ARG002 - of the interface
        """Return the set-points, gains, and stiffness 1."""
        return Limits(
            stiffness=self._stiffness.copy(), target=self.target, gains=self._gains
        )


class StandEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """Robot that stands in the closed loop under the actions of a policy.

    `info` has the weighted `terms` of the reward, `heat_w` and `useless_w` of the last
    step in W, `hottest_degc`, `time_s`, and the number of the drawn `robot`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012

    def __init__(
        self,
        robot: str | Path | None = None,
        *,
        sweep: str | Path | None = None,
        layout: PolicyLayout | Mapping[str, Any] | str | Path | None = None,
        weights: Mapping[str, float] | None = None,
        limit_degc: float = SHUT_DOWN_DEGC,
        render_mode: str | None = None,
        **setting: Any,
    ) -> None:
        """Prepare the spaces.

        Args:
            robot: name or folder; None: the NAO, or the robot of the sweep.
            sweep: sweep file; each `reset` draws one of its trials. None: one robot.
            layout: layout of observation and action, or a YAML file with one; None:
                the leg joints, ±0.25 rad around the posture.
            weights: weights in place of those of `WEIGHTS`.
            limit_degc: temperature that ends the episode, in °C.
            render_mode: `rgb_array`, or None.
            **setting: fields of `RobotSetting`, such as `engine`, without a sweep.

        Raises:
            BadInput: a value cannot be used.
        """
        if sweep is not None and (setting or robot is not None):
            raise BadInput(
                f"sweep {str(sweep)!r} has robot and settings of its own; omit "
                f"{', '.join(setting) or 'robot'}."
            )
        for name in weights or ():
            if name not in WEIGHTS:
                raise UnknownName("Weight", name, WEIGHTS, "the reward")
        if render_mode not in {None, *self.metadata["render_modes"]}:
            raise BadInput(f"render_mode is {render_mode!r}; give 'rgb_array' or None.")
        self.render_mode = render_mode
        self._weights = WEIGHTS | dict(weights or {})
        self._limit_degc = limit_degc
        self._spec = None if sweep is None else read_spec(Path(sweep))
        self._cfg = _trial_of(robot, setting) if self._spec is None else None
        of_first, _ = self._cfg_of({"robot": 0})
        first = of_first.load_robot()
        self._layout = _layout_of(layout, first, of_first.posture)
        self._begin(first)
        n, clip = len(self._vector.last_action), self._layout.action_clip
        high = np.full(n, np.inf if clip is None else clip, np.float32)
        self.action_space = gymnasium.spaces.Box(-high, high)
        self.observation_space = gymnasium.spaces.Box(
            -np.inf, np.inf, (self._vector.values.size,), np.float32
        )
        self._sim: SimulatedRobot | None = None
        self._drawn: DrawnRobot | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Draw a robot and place it in its posture.

        Args:
            seed: seed of all later draws; None: go on.
            options: `robot`: number of the robot in the sweep; None: drawn.
        """
        super().reset(seed=seed)
        self.close()
        cfg, self._number = self._cfg_of(options or {})
        robot = cfg.load_robot()
        gains = self._begin(robot)
        self._sim = SimulatedRobot(robot, cfg.simulation, cfg.posture)
        self._setpoints = Setpoints(self._sim.read().target, gains)
        self._loop = Loop(
            self._sim,
            self._setpoints,
            None,
            cfg.control_period,
            observation_delay=cfg.observation_delay,
            action_delay=cfg.action_delay,
        )
        self._loop.disturb = pusher(cfg.pushes, robot)
        self._cycles = ticks_of(
            "period of the layout", self._layout.period_s, cfg.control_period
        )
        self._loss = joule_loss(robot, robot.joint_names)
        self._legs = StandingLoss(self._sim)
        return self._observe(), self._info({}, np.zeros(len(robot.motors)), 0.0)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Hold the set-points of an action for one period.

        Raises:
            BadInput: the action is not one finite number per joint of the layout, or
                `reset` was not called.
        """
        sim = self._ready()
        self._setpoints.target = self._vector.act(self._checked(action))
        square = np.zeros(len(sim.robot.motors))
        try:
            for _ in range(self._cycles):
                self._loop.cycle()
                square += sim.mean_square / self._cycles
        except SimulationDiverged as error:
            info = self._info({}, square, 0.0) | {"failure": str(error)}
            return self._vector.values[0].copy(), 0.0, True, False, info
        useless_w = float(np.nan_to_num(self._legs.loss @ square - self._least_w()))
        hottest = float(sim.heating.temperature.max())
        rotation = rotation_from_quaternion(sim.engine.base_pose()[1])
        values = {
            "upright": float(rotation[2, 2]),
            "heat": float(self._loss @ square),
            "useless": max(useless_w, 0.0),
            "barrier": float(barrier(sim.heating.temperature, self._limit_degc)),
        }
        terms = {name: self._weights[name] * value for name, value in values.items()}
        ended = sim.has_fallen() or hottest >= self._limit_degc
        info = self._info(terms, square, values["useless"])
        return self._observe(), sum(terms.values()), ended, False, info

    def render(self) -> Any:
        """Return a picture (height, width, 3) of the robot; joints show temperatures.

        Raises:
            BadInput: `reset` was not called.
        """
        if self.render_mode is None:
            return None
        truth = (sim := self._ready()).truth()
        if self._drawn is None:
            self._drawn, self._camera = _view_of(sim)
        self._drawn.place(truth.q, truth.base_position, truth.base_quaternion)
        picture = self._drawn.photograph(self._camera)
        rendering = self._drawn.render(self._camera)
        light = 0.45 + 0.55 * rendering.rgb[..., :1] / 255.0
        hottest = sim.robot.largest_of_joint(truth.temperature)
        for name, colour in zip(
            sim.robot.joint_names, colours_of(hottest), strict=True
        ):
            seen = rendering.sees(drum_of(name))
            picture[seen] = (255.0 * light * colour)[seen]
        return picture

    def close(self) -> None:
        """Release the engine; may be called twice."""
        for one in (self._sim, self._drawn):
            if one is not None:
                one.close()
        self._sim = self._drawn = None

    def _cfg_of(self, options: Mapping[str, Any]) -> tuple[TrialCfg, int]:
        """Return a trial, drawn by the generator of the environment, and its robot."""
        if self._spec is None:
            assert self._cfg is not None
            noise = int(self.np_random.integers(2**31))
            simulation = replace(self._cfg.simulation, seed=noise)
            return replace(self._cfg, simulation=simulation), 0
        number = _robot_number(self._spec, options, self.np_random)
        trials = list(self._spec.trials([number]))
        return trials[self.np_random.integers(len(trials))].trial_cfg(), number

    def _begin(self, robot: Robot) -> ServoGains | None:
        """Prepare the observation of an episode; return the gains of the layout."""
        fitted = FittedLayout.of(self._layout, robot, own_gains(robot), WHERE)
        self._vector = ObservationVector(fitted, robot, np.zeros(3), WHERE)
        return fitted.gains

    def _ready(self) -> SimulatedRobot:
        if self._sim is None:
            raise BadInput("the environment has no robot yet; call reset() first.")
        return self._sim

    def _checked(self, action: object) -> FloatArray:
        given = as_numbers(action)
        n = len(self._vector.last_action)
        if given is None or given.shape != (n,) or not np.isfinite(given).all():
            raise BadInput(
                f"action is {short(action)}; give {n} finite numbers, one per joint of "
                "the layout."
            )
        return given

    def _least_w(self) -> float:
        return float(self._legs.least_w().sum())

    def _observe(self) -> NDArray[np.float32]:
        self._vector.fill(self._loop.observe())
        return np.array(self._vector.values[0])

    def _info(
        self, terms: Mapping[str, float], square: FloatArray, useless_w: float
    ) -> dict[str, Any]:
        sim = self._ready()
        return {
            "terms": {name: terms.get(name, 0.0) for name in WEIGHTS},
            "heat_w": float(self._loss @ square),
            "useless_w": useless_w,
            "hottest_degc": float(sim.heating.temperature.max()),
            "time_s": sim.time_s,
            "robot": self._number,
        }


def _trial_of(robot: str | Path | None, setting: Mapping[str, Any]) -> TrialCfg:
    """Return the trial of one robot in one setting."""
    known = RobotSetting.__dataclass_fields__
    for name in setting:
        if name == "seed":
            raise BadInput("a seed is no setting of the environment; reset(seed=...).")
        if name not in known:
            raise UnknownName("Setting", name, known, "a robot")
    given = RobotSetting(robot=find_robot_folder(robot), **setting)
    loaded = load_robot(find_robot_folder(robot))
    given.check(loaded)
    return TrialCfg.of(
        given,
        controller=Setpoints.name,
        posture=given.posture_of(loaded),
        duration_s=np.inf,
        fast_forward=None,
    )


def _robot_number(
    spec: SweepSpec, options: Mapping[str, Any], rng: np.random.Generator
) -> int:
    number = options.get("robot")
    if number is None:
        return int(rng.integers(spec.robots))
    if number not in range(spec.robots):
        raise BadInput(
            f"option 'robot' is {short(number)}; sweep {spec.name!r} has the robots 0 "
            f"to {spec.robots - 1}."
        )
    return int(number)


def _layout_of(
    given: PolicyLayout | Mapping[str, Any] | str | Path | None,
    robot: Robot,
    posture: str,
) -> PolicyLayout:
    """Return the layout, or one that moves the legs around a posture."""
    match given:
        case PolicyLayout():
            return given
        case str() | Path():
            return read_layout(Path(given))
        case Mapping():
            return layout_from(given, WHERE)
    terms = ("angular_velocity", "gravity", "joint_position", "joint_velocity")
    scales = {"angular_velocity": 0.25, "joint_velocity": 0.05}
    return layout_from(
        {
            "joints": robot.leg_joints,
            "default": posture,
            "action_scale": 0.25,
            "action_clip": 1.0,
            "observation": [
                {"term": name, "scale": scales.get(name, 1.0)}
                for name in (*terms, "last_action")
            ],
        },
        WHERE,
    )


def _view_of(sim: SimulatedRobot) -> tuple[DrawnRobot, Camera]:
    """Return a drawable robot, and a camera that frames its first pose."""
    truth = sim.truth()
    pose = Pose(
        q=truth.q,
        base_position=truth.base_position,
        base_quaternion=truth.base_quaternion,
    )
    drawn = dressed(sim.robot, pose, sim.cfg.world)
    around = outline_of(drawn, FROM, truth.base_position)
    (camera,) = aim([around], PICTURE, PICTURE)
    return drawn, camera
