"""Parameters of the notebooks' first cells, validated before anything runs.

    HeatStory(minutes=15.0, preset="document", controllers=("fixed", "smart"), seed=0)

An invalid value is reported by name, with the accepted values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.experiments.heat.published import load_preset
from nao_testbed.models import BadInput, Robot, UnknownName, load_robot

LEAST_MISALIGNMENT_DEG = 0.5
"""Error in degrees below which the six patterns are hidden by movements of the feet."""
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""Seed of all noise."""


@dataclass(frozen=True, kw_only=True)
class HeatStory(Checked):
    """Parameters of `01_the_documents_experiment`."""

    minutes: Annotated[float, Field(ge=0.5, le=60.0)]
    """Simulated time in min; the published one is 15."""
    preset: str
    """Preset with misalignments and start temperatures."""
    controllers: tuple[str, ...]
    """Controllers, one robot each; the first is the reference."""
    seed: Seed

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_controllers(self.controllers)
        load_preset(self.preset)


@dataclass(frozen=True, kw_only=True)
class ForceStory(Checked):
    """Parameters of `02_where_the_heat_comes_from`."""

    joint: str
    """Misaligned joint of a leg."""
    misalignment_deg: Annotated[float, Field(ge=-3.0, le=3.0)]
    """Misalignment in degrees."""
    controllers: tuple[str, ...]
    """Controllers, one robot each; the first is the reference."""
    minutes: Annotated[float, Field(ge=0.25, le=15.0)]
    """Simulated time of each robot in min."""
    seed: Seed

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_names("joint", [self.joint], load_robot().leg_joints)
        if abs(self.misalignment_deg) < LEAST_MISALIGNMENT_DEG:
            raise BadInput(
                f"misalignment_deg = {self.misalignment_deg!r}; give at least "
                f"{LEAST_MISALIGNMENT_DEG}° of either sign: a smaller error shows "
                "no internal forces."
            )
        check_controllers(self.controllers)


@dataclass(frozen=True, kw_only=True)
class IdentificationStory(Checked):
    """Parameters of `03_identifying_the_heating_model`."""

    joints: tuple[str, ...]
    """Joints with motors of one kind; the first one is also fitted alone."""
    controller: str
    """Controller of the robot for the identification; hot joints give more
    information."""
    minutes: Annotated[float, Field(ge=3.0, le=60.0)]
    """Simulated time in min of the run for the identification."""
    learn_until_s: Annotated[float, Field(ge=300.0, le=3400.0)]
    """Time in s up to which rows of the file are fitted; later rows are predicted."""
    ambient_degc: Annotated[float, Field(ge=-10.0, le=50.0)]
    """Air temperature in °C around the motor of the file."""

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        robot = load_robot()
        check_names("joints", self.joints, robot.joint_names)
        kinds = {_heating(joint, robot) for joint in self.joints}
        if len(self.joints) < 2 or len(kinds) > 1:
            raise BadInput(
                f"joints = {self.joints}; give two joints or more, with motors of one "
                "kind, which share their constants."
            )
        check_controllers([self.controller])


@dataclass(frozen=True, kw_only=True)
class ComparisonStory(Checked):
    """Parameters of `05_your_controller`."""

    robots: Annotated[int, Field(ge=2, le=200)]
    """Number of random robots."""
    largest_deg: Annotated[float, Field(gt=0.0, le=3.0)]
    """Largest calibration error of a leg joint, in degrees."""
    controllers: tuple[str, ...]
    """Controllers that run beside the user's, besides `fixed`."""
    seconds: Annotated[float, Field(ge=3.0, le=120.0)]
    """Simulated time of each robot, in s."""
    seed: Seed

    def __post_init__(self) -> None:
        """Check the controllers' names."""
        super().__post_init__()
        check_controllers(("fixed", *self.controllers))


@dataclass(frozen=True, kw_only=True)
class StanceStory(Checked):
    """Parameters of `06_policy_and_stances`."""

    robot: str
    """Name or folder of the robot."""
    error_deg: Annotated[float, Field(ge=-5.0, le=5.0)]
    """Calibration error of a hip, in degrees."""
    seconds: Annotated[float, Field(ge=1.0, le=60.0)]
    """Simulated time of an episode, in s."""
    tries: Annotated[int, Field(ge=1, le=10_000)]
    """Number of stances of the search."""
    seed: Seed


def check_controllers(names: Sequence[str]) -> None:
    """Check names of controllers, each given once.

    Raises:
        BadInput: a name is invalid; the message has the accepted ones.
    """
    from nao_testbed.controllers.registry import make_controller  # noqa: PLC0415  # heavy

    is_list = isinstance(names, list | tuple) and bool(names)
    if not is_list or len(set(map(str, names))) != len(names):
        raise BadInput(
            f'controllers = {names!r}; give names, each once, such as ("fixed", '
            '"smart").'
        )
    for name in names:
        make_controller(str(name))


def check_names(parameter: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise for a name that is not known.

    Raises:
        UnknownName: a name is unknown; the message has the parameter and the known
            names.
    """
    for name in names:
        if name not in known:
            where = f"what {parameter} may be"
            raise UnknownName("Parameter", str(name), known, where)


def _heating(joint: str, robot: Robot) -> object:
    return next(motor.one_node for motor in robot.motors if joint in motor.joints)
