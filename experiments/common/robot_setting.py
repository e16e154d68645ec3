"""Setting of a robot: world, faults and heat, declared once.

A command takes its options from the fields (`Asked`), scenario and sweep files their
keys (`part_of`); results name them in JSON, in the record of a run and beside the
published numbers (`Told`). A preset and the regression kit give values, and
`RobotSetting.simulation` is the one way from there to the simulator. The ranges are
types of `models.values`, which the simulator's configurations use too. Importing this
loads no engine.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, get_type_hints

from pydantic import with_config

from nao_testbed.experiments.common.form_parts import FiniteFloat, Name
from nao_testbed.models import BadInput, Robot, default_robot_folder
from nao_testbed.models.values import (
    AirCelsius,
    Celsius,
    EngineName,
    FrictionScale,
    GearPlay,
    Gravity,
    GroundFriction,
    SlopeDegrees,
    SolverResidual,
)

if TYPE_CHECKING:
    from nao_testbed.sim.robot import SimulationCfg

Joints = Mapping[Name, FiniteFloat]
"""Joint to number."""
CONTROL_PERIOD = 0.02
"""In s: the 20 ms cycle of the stiffness controller."""
DEFAULT_POSTURE = "PoseInit"
"""That of ES2659053; a robot without it takes its first one."""


@dataclass(frozen=True)
class Asked:
    """Command-line option of a field."""

    option: str
    help: str
    metavar: str | None = None
    example: str = "LAnklePitch=2.0"
    """Example of a value by joint or link."""
    is_text: bool = False
    """True if that value is a text, otherwise a number."""


@dataclass(frozen=True)
class Told:
    """Presentation of a field in results."""

    words: str = ""
    """For it where it is not that of the published numbers; empty: said otherwise."""
    place: str = ""
    """Keys that lead to it in the configuration that a run records, with dots."""
    key: str = ""
    """In `HeatResult.settings`; empty: its name."""
    of_none: str = ""
    """What None means, in words."""
    only_given: bool = False
    """Whether it is left out where nothing is given."""


@with_config(use_attribute_docstrings=True)
@dataclass(frozen=True, kw_only=True)
class RobotSetting:
    """A robot, its ground and its heat; the defaults are an ideal robot."""

    robot: Path = field(default_factory=default_robot_folder)
    posture: Annotated[
        str | None,
        Asked(
            "posture",
            "Posture to hold; default: the preset's, else PoseInit, else the "
            "robot's first.",
        ),
    ] = None
    effort_limits: Annotated[Joints, Told(key="effort_limits_nm")] = field(
        default_factory=dict
    )
    """Joint to torque at stiffness 1 in N·m, where it is not the robot's own."""
    current_limit_a: Annotated[
        Joints,
        Asked(
            "current_limit",
            "Current limit of a joint's motor in A, in addition to the torque limit; "
            "repeatable.",
            "JOINT=A",
            "LKneePitch=0.5",
        ),
        Told(only_given=True),
    ] = field(default_factory=dict)
    """Joint to the largest current of its motor in A, whatever is commanded."""
    misalignment_deg: Annotated[
        Joints,
        Asked(
            "misalign",
            "Calibration error of a joint in degrees; repeatable.",
            "JOINT=DEG",
        ),
    ] = field(default_factory=dict)
    """Joint to calibration error in degrees: true angle minus measured angle."""
    start_degc: Annotated[
        Mapping[Name, Celsius],
        Asked(
            "start",
            "Start temperature of a joint in °C (other joints: 30); repeatable.",
            "JOINT=DEGC",
        ),
        Told(place="simulation.start_degc"),
    ] = field(default_factory=dict)
    """Joint to temperature of its motor at the start, in °C."""
    other_start_degc: Annotated[
        Celsius | None,
        Told("the start of other joints in °C", "simulation.other_start_degc"),
    ] = None
    """Of all other motors, in °C; absent: the preset's, or 30."""
    payload_kg: Annotated[
        Mapping[str, FiniteFloat],
        Asked(
            "payload",
            "Payload of a link in kg, at its centre of mass or at X,Y,Z in its frame "
            "in m; repeatable.",
            "LINK[@X,Y,Z]=KG",
            "torso=2.0",
        ),
        Told(place="simulation.world.payloads"),
    ] = field(default_factory=dict)
    """Link, or `link@x,y,z` in its frame in m, to the mass in kg that it carries."""
    obstacles: Annotated[
        Mapping[Name, str],
        Asked(
            "obstacle",
            "Box in the robot's way: edge lengths in m, centre in m (ahead of the "
            "robot's start, to its left, above the ground), yaw in degrees; "
            "repeatable.",
            "NAME=SX,SY,SZ@X,Y,Z[,YAW]",
            "table=0.3,0.6,0.02@0.25,0,0.3",
            is_text=True,
        ),
        Told(place="simulation.world.obstacles"),
    ] = field(default_factory=dict)
    """Name to a box in the robot's way: `sx,sy,sz@x,y,z` or `sx,sy,sz@x,y,z,yaw`, its
    edges and its middle in m, in the frame of the robot's start (x ahead, y to the
    left, z up from the ground), and its yaw in degrees."""
    slope_deg: Annotated[
        SlopeDegrees,
        Asked("slope", "Ground slope in degrees."),
        Told("the slope in degrees", "simulation.world.slope_deg"),
    ] = 0.0
    """The ground rises by this angle towards +x, in degrees."""
    friction: Annotated[
        GroundFriction,
        Asked("friction", "Coulomb friction coefficient of the soles on the ground."),
        Told("the ground friction", "simulation.world.friction"),
    ] = 0.7
    """Coulomb coefficient of soles on the ground."""
    gravity: Gravity = 9.81
    """In m/s²."""
    solver_residual: SolverResidual = 1e-7
    """Squared residual at which the contact solver stops."""
    engine: Annotated[
        EngineName | None,
        Asked(
            "engine",
            "Physics engine: pybullet, or mujoco (needs the extra of that name); "
            "default: pybullet if installed.",
        ),
        Told(only_given=True),
    ] = None
    """Physics engine, `pybullet` or `mujoco`; absent: PyBullet where it is
    installed."""
    servo: Annotated[
        str,
        Asked(
            "servo",
            "Servo model: torque, or pybullet for the engine's own motors (no gear "
            "friction).",
        ),
        Told("the servo", "simulation.servo.kind"),
    ] = "torque"
    gear_friction: Annotated[
        FrictionScale,
        Asked(
            "gear_friction",
            "Factor on the gear friction of all joints; 0 turns it off.",
        ),
        Told("the factor on gear friction", "simulation.servo.friction_scale"),
    ] = 1.0
    """Factor on every joint's gear friction."""
    gear_play_deg: Annotated[
        GearPlay,
        Asked("gear_play", "Play of all gears in degrees, from stop to stop."),
        Told("the gear play in degrees", "simulation.servo.play_deg", only_given=True),
    ] = 0.0
    """By which a joint turns freely about its motor, in degrees, from stop to stop."""
    heating: Annotated[
        Literal["one-node", "two-node", "bare-motor"],
        Asked(
            "heating",
            "Heating model: one-node, identified on a robot; two-node, the same with a "
            "separate winding; bare-motor, data sheets in free air (far too cool for "
            "a robot).",
        ),
        Told("the heating", "simulation.heating.model"),
    ] = "one-node"
    """Heating model."""
    copper: Annotated[
        bool,
        Asked(
            "copper",
            "Make the winding resistance grow with temperature; for bare-motor (the "
            "identified constants hold without it).",
        ),
        Told("the winding's copper", "simulation.heating.copper_coefficient"),
    ] = False
    ambient_degc: Annotated[
        AirCelsius | None,
        Asked(
            "ambient", "Air temperature in °C; default: that of the motor constants."
        ),
        Told(
            "the ambient temperature",
            "simulation.heating.ambient_degc",
            of_none="the motors' own",
        ),
    ] = None
    """Of the air, in °C; absent: the motors' own."""
    protection: Annotated[
        Literal["none", "nao", "document"],
        Asked(
            "protection",
            "Thermal protection: none, nao (statuses 0-3) or document (80 °C).",
        ),
        Told("the protection", "simulation.protection"),
    ] = "none"
    """What a temperature does to the stiffness."""
    seed: Annotated[int, Asked("seed", "Seed of the sensor noise.")] = 0
    control_period: Annotated[
        float,
        Asked("control_period", "Control period in s."),
        Told("the control period in s", "control_period", key="control_period_s"),
    ] = CONTROL_PERIOD
    physics_dt: Annotated[
        float, Asked("physics_dt", "Physics time step in s."), Told(key="physics_dt_s")
    ] = 0.001

    def over(self, below: "RobotSetting") -> Self:
        """Return it with what it leaves open, None and joints, as `below` has it."""
        filled: dict[str, Any] = {}
        for one in dataclasses.fields(RobotSetting):
            mine, its = getattr(self, one.name), getattr(below, one.name)
            if mine is None:
                filled[one.name] = its
            elif isinstance(mine, Mapping):
                filled[one.name] = {**its, **mine}
        return dataclasses.replace(self, **filled)

    def told(self) -> dict[str, Any]:
        """Return its values as `HeatResult.settings` has them."""
        values = {f.name: (told, getattr(self, f.name)) for f, _, told in marked(Told)}
        return {
            told.key or name: dict(value) if isinstance(value, Mapping) else value
            for name, (told, value) in values.items()
            if value or not told.only_given
        }

    def posture_of(self, robot: Robot) -> str:
        """Return the held posture; `check` validates it."""
        return robot.posture_name(self.posture, DEFAULT_POSTURE)

    def check(self, robot: Robot) -> None:
        """Check that the setting fits a robot.

        Raises:
            BadInput: it does not; the message names the first reason.
        """
        from nao_testbed.sim.body.placement import check_start  # noqa: PLC0415  # heavy
        from nao_testbed.sim.body.stiffness import current_limits_of  # noqa: PLC0415
        from nao_testbed.sim.engine.world import payloads_of, ticks_of  # noqa: PLC0415  # heavy
        from nao_testbed.sim.robot import misalignment_of, start_temperatures  # noqa: PLC0415
        from nao_testbed.sim.thermal.protection import make_protection  # noqa: PLC0415

        if self.seed < 0:
            raise BadInput(f"seed is {self.seed}; give a whole number from 0 up.")
        simulation = self.simulation()
        robot.with_effort_limits(self.effort_limits)
        _check_physics_step(robot, self.physics_dt)
        ticks_of("control period", self.control_period, self.physics_dt)
        robot.posture(self.posture_of(robot))
        payloads_of(robot, self.payload_kg)
        check_start(robot, simulation.world, self.posture_of(robot))
        current_limits_of(robot, self.current_limit_a)
        misalignment_of(robot, self.misalignment_deg)
        start_temperatures(robot, self.start_degc, simulation.other_start_degc)
        make_protection(self.protection, robot)

    def simulation(self, *, gui: bool = False) -> "SimulationCfg":
        """Return the configuration of the simulator.

        Raises:
            BadInput: a value is out of its range.
        """
        from nao_testbed.sim.engine.obstacles import obstacles_of  # noqa: PLC0415  # heavy
        from nao_testbed.sim.engine.world import (  # noqa: PLC0415  # heavy
            Payload,
            WorldCfg,
            default_engine,
        )
        from nao_testbed.sim.robot import SimulationCfg  # noqa: PLC0415
        from nao_testbed.sim.servo import ServoCfg  # noqa: PLC0415
        from nao_testbed.sim.thermal import COPPER_COEFFICIENT, HeatingCfg  # noqa: PLC0415

        other = self.other_start_degc
        loads = starmap(Payload.at, self.payload_kg.items())
        return SimulationCfg(
            world=WorldCfg(
                engine=self.engine or default_engine(),
                physics_dt=self.physics_dt,
                gravity=self.gravity,
                slope_deg=self.slope_deg,
                friction=self.friction,
                solver_residual=self.solver_residual,
                payloads=tuple(load for load in loads if load.mass_kg > 0.0),
                obstacles=obstacles_of(self.obstacles),
                gui=gui,
            ),
            servo=ServoCfg(
                kind=self.servo,
                friction_scale=self.gear_friction,
                play_deg=self.gear_play_deg,
            ),
            heating=HeatingCfg(
                model=self.heating,
                copper_coefficient=COPPER_COEFFICIENT if self.copper else 0.0,
                ambient_degc=self.ambient_degc,
            ),
            protection=self.protection,
            current_limit_a=dict(self.current_limit_a),
            misalignment_deg=dict(self.misalignment_deg),
            start_degc=dict(self.start_degc),
            other_start_degc=SimulationCfg.other_start_degc if other is None else other,
            seed=self.seed,
        )


MarkT = TypeVar("MarkT")


def marked(mark: type[MarkT]) -> Iterator[tuple[dataclasses.Field[Any], Any, MarkT]]:
    """Yield the fields of a setting that have a mark, their types, and the marks."""
    hints = get_type_hints(RobotSetting, include_extras=True)
    kinds = get_type_hints(RobotSetting)
    for one in dataclasses.fields(RobotSetting):
        for found in getattr(hints[one.name], "__metadata__", ()):
            if isinstance(found, mark):
                yield one, kinds[one.name], found


def _check_physics_step(robot: Robot, physics_dt: float) -> None:
    """Refuse a step that does not divide the periods which a user cannot choose."""
    from nao_testbed.sim.engine.world import ticks_of  # noqa: PLC0415  # heavy
    from nao_testbed.sim.thermal.motor_heat import HEAT_PERIOD  # noqa: PLC0415

    rates = robot.sensor_rates
    periods = {
        "heating": HEAT_PERIOD,
        "encoder": rates.encoder_period,
        "current": rates.current_period,
        "IMU": rates.imu_period,
        "FSR": rates.fsr_period,
        "temperature": rates.temperature_period,
        "sonar": rates.sonar_period,
    }
    for name, period in periods.items():
        try:
            ticks_of(f"{name} period", period, physics_dt)
        except BadInput as error:
            raise BadInput(
                f"physics step is {physics_dt:g} s, which does not divide the {name} "
                f"period of {period:g} s; give one that does, such as 0.001."
            ) from error
