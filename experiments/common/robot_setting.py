"""Settings of a simulated robot: world, faults and heat, declared in one place.

Each field of `RobotSetting` defines a command-line option (`OptionSpec`), a key of
scenario and sweep files (`part_of`), and its name in results (`ResultSpec`). Presets
and the regression kit set the same fields. `RobotSetting.simulation` converts them to
the configuration of the simulator. The ranges are types of `models.values`, which the
simulator's configurations use too. Importing this module loads no engine.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Self,
    TypeVar,
    get_type_hints,
)

from nao_testbed.controllers.interface.ranges import (
    AirCelsius,
    Celsius,
    Delay,
    EngineName,
    FiniteFloat,
    FrictionScale,
    GearPlay,
    Gravity,
    GroundFriction,
    Name,
    SlopeDegrees,
    SolverResidual,
)
from nao_testbed.models import BadInput, default_robot_folder

if TYPE_CHECKING:
    from nao_testbed.models import Robot
    from nao_testbed.sim.robot import SimulationCfg

Joints = Mapping[Name, FiniteFloat]
"""Numbers by joint."""
CONTROL_PERIOD = 0.02
"""Period of the stiffness controller in s: 20 ms."""


@dataclass(frozen=True)
class OptionSpec:
    """Command-line option of a field."""

    option: str
    help: str
    metavar: str | None = None
    example: str = "JOINT=2.0"
    """Example of a value by joint or link."""
    is_text: bool = False
    """True if the value by joint or link is a text; False: a number."""


@dataclass(frozen=True)
class ResultSpec:
    """Presentation of a field in results."""

    label: str = ""
    """Name in the list of differences from the published experiment; empty: none."""
    config_path: str = ""
    """Path of the value in the recorded configuration of a run, joined by dots."""
    key: str = ""
    """Key in `HeatResult.settings`; empty: the name of the field."""
    none_text: str = ""
    """Meaning of None, for messages."""
    omit_if_empty: bool = False
    """True if results omit an empty value."""


@dataclass(frozen=True, kw_only=True)
class RobotSetting:
    """Settings of a robot and its ground; the defaults describe an ideal robot."""

    robot: Path = field(default_factory=default_robot_folder)
    posture: Annotated[
        str | None,
        OptionSpec(
            "posture",
            "Posture to hold, by name or role; default: the preset's, else the "
            "robot's default.",
        ),
    ] = None
    effort_limits: Annotated[Joints, ResultSpec(key="effort_limits_nm")] = field(
        default_factory=dict
    )
    """Torque at stiffness 1 in N·m by joint; other joints have the robot's value."""
    current_limit_a: Annotated[
        Joints,
        OptionSpec(
            "current_limit",
            "Current limit of a joint's motor in A, in addition to the torque limit; "
            "repeatable.",
            "JOINT=A",
            "JOINT=0.5",
        ),
        ResultSpec(omit_if_empty=True),
    ] = field(default_factory=dict)
    """Largest motor current in A by joint, for every commanded stiffness."""
    misalignment_deg: Annotated[
        Joints,
        OptionSpec(
            "misalign",
            "Calibration error of a joint in degrees; repeatable.",
            "JOINT=DEG",
        ),
    ] = field(default_factory=dict)
    """Calibration error in degrees by joint: true angle minus measured angle."""
    start_degc: Annotated[
        Mapping[Name, Celsius],
        OptionSpec(
            "start",
            "Start temperature of a joint in °C (other joints: 30); repeatable.",
            "JOINT=DEGC",
        ),
        ResultSpec(config_path="simulation.start_degc"),
    ] = field(default_factory=dict)
    """Motor temperature at the start in °C by joint."""
    other_start_degc: Annotated[
        Celsius | None,
        ResultSpec(
            "the start temperature of other joints in °C", "simulation.other_start_degc"
        ),
    ] = None
    """Start temperature of all other motors in °C; absent: the preset's, or 30."""
    payload_kg: Annotated[
        Mapping[str, FiniteFloat],
        OptionSpec(
            "payload",
            "Payload of a link in kg, at its centre of mass or at X,Y,Z in its frame "
            "in m; repeatable.",
            "LINK[@X,Y,Z]=KG",
            "LINK=2.0",
        ),
        ResultSpec(config_path="simulation.world.payloads"),
    ] = field(default_factory=dict)
    """Carried mass in kg by link, or by `link@x,y,z` with the position in m in the
    frame of the link."""
    obstacles: Annotated[
        Mapping[Name, str],
        OptionSpec(
            "obstacle",
            "Box in the robot's way: edge lengths in m, centre in m (in front of the "
            "robot's start, to its left, above the ground), yaw in degrees; "
            "repeatable.",
            "NAME=SX,SY,SZ@X,Y,Z[,YAW]",
            "table=0.3,0.6,0.02@0.25,0,0.3",
            is_text=True,
        ),
        ResultSpec(config_path="simulation.world.obstacles"),
    ] = field(default_factory=dict)
    """Boxes in the robot's way by name: `sx,sy,sz@x,y,z` or `sx,sy,sz@x,y,z,yaw`, with
    edge lengths and centre in m, in the frame of the robot's start (x ahead, y to the
    left, z up from the ground), and yaw in degrees."""
    slope_deg: Annotated[
        SlopeDegrees,
        OptionSpec(
            "slope", "Ground slope in degrees; positive: uphill in front of the robot."
        ),
        ResultSpec("the slope in degrees", "simulation.world.slope_deg"),
    ] = 0.0
    """Slope of the ground in degrees; it rises towards +x."""
    friction: Annotated[
        GroundFriction,
        OptionSpec(
            "friction", "Coulomb friction coefficient of the soles on the ground."
        ),
        ResultSpec("the ground friction", "simulation.world.friction"),
    ] = 0.7
    """Coulomb friction coefficient of the soles on the ground."""
    gravity: Gravity = 9.81
    """Gravity in m/s²."""
    solver_residual: SolverResidual = 1e-7
    """Squared residual at which the contact solver stops."""
    engine: Annotated[
        EngineName | None,
        OptionSpec(
            "engine",
            "Physics engine: pybullet, or mujoco if that package is installed; "
            "default: pybullet if installed.",
        ),
        ResultSpec(omit_if_empty=True),
    ] = None
    """Physics engine, `pybullet` or `mujoco`; absent: PyBullet if installed, else
    MuJoCo."""
    servo: Annotated[
        str,
        OptionSpec(
            "servo",
            "Servo model: torque, or pybullet for the engine's own motors (no gear "
            "friction).",
        ),
        ResultSpec("the servo", "simulation.servo.kind"),
    ] = "torque"
    gear_friction: Annotated[
        FrictionScale,
        OptionSpec(
            "gear_friction",
            "Factor on the gear friction of all joints; 0 turns it off.",
        ),
        ResultSpec("the factor on gear friction", "simulation.servo.friction_scale"),
    ] = 1.0
    """Factor on the gear friction of all joints."""
    gear_play_deg: Annotated[
        GearPlay,
        OptionSpec("gear_play", "Play of all gears in degrees, from stop to stop."),
        ResultSpec(
            "the gear play in degrees", "simulation.servo.play_deg", omit_if_empty=True
        ),
    ] = 0.0
    """Gear play in degrees: the angle by which a joint turns freely, from stop to
    stop."""
    heating: Annotated[
        Literal["one-node", "two-node", "bare-motor"],
        OptionSpec(
            "heating",
            "Heating model: one-node, identified on a robot; two-node, the same with a "
            "separate winding; bare-motor, from data sheets of a motor in free air "
            "(far too cool for a robot).",
        ),
        ResultSpec("the heating model", "simulation.heating.model"),
    ] = "one-node"
    """Heating model."""
    copper: Annotated[
        bool,
        OptionSpec(
            "copper",
            "Make the winding resistance grow with temperature; for bare-motor (the "
            "identified constants already contain a part of this growth).",
        ),
        ResultSpec("the copper coefficient", "simulation.heating.copper_coefficient"),
    ] = False
    ambient_degc: Annotated[
        AirCelsius | None,
        OptionSpec(
            "ambient", "Air temperature in °C; default: that of the motor constants."
        ),
        ResultSpec(
            "the ambient temperature",
            "simulation.heating.ambient_degc",
            none_text="that of the motor constants",
        ),
    ] = None
    """Air temperature in °C; absent: that of the motor constants."""
    protection: Annotated[
        Literal["none", "nao", "document", "robot"],
        OptionSpec(
            "protection",
            "Thermal protection: none, robot (the robot's own thresholds), nao "
            "(statuses 0-3) or document (80 °C).",
        ),
        ResultSpec("the protection", "simulation.protection"),
    ] = "none"
    """Thermal protection, which reduces the stiffness of hot joints."""
    seed: Annotated[int, OptionSpec("seed", "Seed of the sensor noise.")] = 0
    control_period: Annotated[
        float,
        OptionSpec("control_period", "Control period in s."),
        ResultSpec("the control period in s", "control_period", key="control_period_s"),
    ] = CONTROL_PERIOD
    observation_delay: Annotated[
        Delay,
        ResultSpec(key="observation_delay_s", omit_if_empty=True),
    ] = 0.0
    """Age of the sensor values that controllers see, in s."""
    action_delay: Annotated[
        Delay,
        ResultSpec(key="action_delay_s", omit_if_empty=True),
    ] = 0.0
    """Time from a controller's decision until it is in force, in s."""
    physics_dt: Annotated[
        float,
        OptionSpec("physics_dt", "Physics time step in s."),
        ResultSpec(key="physics_dt_s"),
    ] = 0.001

    def with_defaults(self, defaults: "RobotSetting") -> Self:
        """Return a copy whose missing values and joints come from `defaults`."""
        filled: dict[str, Any] = {}
        for one in dataclasses.fields(RobotSetting):
            value, default = getattr(self, one.name), getattr(defaults, one.name)
            if value is None:
                filled[one.name] = default
            elif isinstance(value, Mapping):
                filled[one.name] = {**default, **value}
        return dataclasses.replace(self, **filled)

    def result_settings(self) -> dict[str, Any]:
        """Return the values in the format of `HeatResult.settings`."""
        values = {
            spec.key or one.name: (spec, getattr(self, one.name))
            for one, _, spec in annotated_with(ResultSpec)
        }
        return {
            key: dict(value) if isinstance(value, Mapping) else value
            for key, (spec, value) in values.items()
            if value or not spec.omit_if_empty
        }

    def posture_of(self, robot: "Robot") -> str:
        """Return the name of the held posture; `check` validates it."""
        return robot.posture_name(self.posture)

    def check(self, robot: "Robot") -> None:
        """Check that the settings fit a robot.

        Raises:
            BadInput: a setting does not fit; the message gives the first reason.
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
        for name in ("observation_delay", "action_delay"):
            if getattr(self, name):
                ticks_of(name.replace("_", " "), getattr(self, name), self.physics_dt)
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


SpecT = TypeVar("SpecT")


def annotated_with(
    spec: type[SpecT],
) -> Iterator[tuple[dataclasses.Field[Any], Any, SpecT]]:
    """Yield each field that has an annotation of this type: field, type, annotation."""
    hints = get_type_hints(RobotSetting, include_extras=True)
    kinds = get_type_hints(RobotSetting)
    for one in dataclasses.fields(RobotSetting):
        for found in getattr(hints[one.name], "__metadata__", ()):
            if isinstance(found, spec):
                yield one, kinds[one.name], found


def _check_physics_step(robot: "Robot", physics_dt: float) -> None:
    """Reject a physics step that does not divide the fixed periods of the robot."""
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
