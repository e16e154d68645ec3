"""What the first cell of each notebook may be set to; checked before anything runs.

    HeatStory(minutes=15.0, preset="document", controllers=("fixed", "smart"), seed=0)

A value that a notebook cannot use is told by name, with what is accepted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.heat.published import load_preset
from models import BadInput, Robot, UnknownName, load_robot

LEAST_MISALIGNMENT_DEG = 0.5
"""Below it the six patterns drown in what the feet do."""


@dataclass(frozen=True, kw_only=True)
class HeatStory:
    """Of `01_the_documents_experiment`."""

    minutes: float
    """Simulated time; the published is 15."""
    preset: str
    """Setting that holds misalignments and starts."""
    controllers: tuple[str, ...]
    """One robot each; the others are held against the first."""
    seed: int
    """Of the sensor noise."""

    def __post_init__(self) -> None:
        """Refuse what the notebook cannot use.

        Raises:
            BadInput: a parameter is out of range.
        """
        check_number("minutes", self.minutes, 0.5, 60.0, "min")
        check_controllers(self.controllers)
        check_whole("seed", self.seed, 0, 2**31 - 1)
        load_preset(self.preset)


@dataclass(frozen=True, kw_only=True)
class ForceStory:
    """Of `02_where_the_heat_comes_from`."""

    joint: str
    """The joint that is misaligned; one of a leg."""
    misalignment_deg: float
    """How far."""
    controllers: tuple[str, ...]
    """One robot each; the others are held against the first."""
    minutes: float
    """Simulated time of each robot under a controller."""
    seed: int
    """Of the sensor noise."""

    def __post_init__(self) -> None:
        """Refuse what the notebook cannot use.

        Raises:
            BadInput: a parameter is out of range.
        """
        check_name("joint", self.joint, load_robot().leg_joints)
        check_number("misalignment_deg", self.misalignment_deg, -3.0, 3.0, "°")
        if abs(self.misalignment_deg) < LEAST_MISALIGNMENT_DEG:
            raise BadInput(
                f"parameter misalignment_deg is {self.misalignment_deg!r}; give at "
                f"least {LEAST_MISALIGNMENT_DEG} ° of either sign in the first cell: "
                f"legs that do not fight have nothing to show."
            )
        check_controllers(self.controllers)
        check_number("minutes", self.minutes, 0.25, 15.0, "min")
        check_whole("seed", self.seed, 0, 2**31 - 1)


@dataclass(frozen=True, kw_only=True)
class IdentificationStory:
    """Of `03_identifying_the_heating_model`."""

    joints: tuple[str, ...]
    """With motors of one kind; the first one also stands alone."""
    controller: str
    """Of the robot that is learnt from; the hotter its joints, the more they say."""
    minutes: float
    """Simulated time of the run that is learnt from."""
    learn_until_s: float
    """Rows of the file up to here are fitted, the later ones predicted."""
    ambient_degc: float
    """Of the air around the motor of the file."""

    def __post_init__(self) -> None:
        """Refuse what the notebook cannot use.

        Raises:
            BadInput: a parameter is out of range.
        """
        robot = load_robot()
        if len(self.joints) < 2:
            raise BadInput(
                f"parameter joints is {self.joints}; give two joints or more, which "
                f"have motors of one kind, such as LHipPitch and LKneePitch."
            )
        for joint in self.joints:
            check_name("joints", joint, robot.joint_names)
        if len({_heating(joint, robot) for joint in self.joints}) > 1:
            raise BadInput(
                f"parameter joints is {self.joints}, with motors of different kinds, "
                f"which share no constants; give joints of one kind."
            )
        check_controller(self.controller)
        check_number("minutes", self.minutes, 3.0, 60.0, "min")
        check_number("learn_until_s", self.learn_until_s, 300.0, 3400.0, "s")
        check_number("ambient_degc", self.ambient_degc, -10.0, 50.0, "°C")


@dataclass(frozen=True, kw_only=True)
class HoldingStory:
    """Of `04_who_held_what`."""

    scenario: str
    """The name of a scenario that ships."""
    controller: str | None
    """Of stiffness, in the place of the scenario's; None: that."""
    seed: int
    """Of all noise."""

    def __post_init__(self) -> None:
        """Refuse what the notebook cannot use.

        Raises:
            BadInput: a parameter is out of range.
        """
        from experiments.scenarios.reading.load import SCENARIOS  # noqa: PLC0415  # heavy

        check_name("scenario", self.scenario, SCENARIOS.names())
        if self.controller is not None:
            check_controller(self.controller)
        check_whole("seed", self.seed, 0, 2**31 - 1)


def check_controllers(names: Sequence[str]) -> None:
    """Refuse what are no controllers, each named once.

    Raises:
        BadInput: it names the parameter and its value.
        UnknownName: there is no such controller.
    """
    from controllers.registry import make_controller  # noqa: PLC0415  # heavy

    is_list = isinstance(names, list | tuple) and bool(names)
    if not is_list or len(set(map(str, names))) != len(names):
        raise BadInput(
            f"parameter controllers is {names!r}; give names, each once, in the first "
            f'cell, such as ("fixed", "smart").'
        )
    for name in names:
        make_controller(str(name))


def check_controller(name: str) -> None:
    """Refuse what is no controller.

    Raises:
        BadInput: it names the parameter and its value.
        UnknownName: there is no such controller.
    """
    if not isinstance(name, str):
        raise BadInput(
            f"parameter controller is {name!r}; give a name in the first cell, such "
            f'as "smart".'
        )
    check_controllers([name])


def check_number(name: str, value: float, low: float, high: float, unit: str) -> None:
    """Refuse what is no number from `low` to `high`.

    Raises:
        BadInput: it names the parameter, its value and the range.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and low <= value <= high):
        raise BadInput(
            f"parameter {name} is {value!r}; give a number from {low:g} to {high:g} "
            f"{unit} in the first cell."
        )


def check_whole(name: str, value: int, low: int, high: int) -> None:
    """Refuse what is no whole number from `low` to `high`.

    Raises:
        BadInput: it names the parameter, its value and the range.
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not (is_whole and low <= value <= high):
        raise BadInput(
            f"parameter {name} is {value!r}; give a whole number from {low} to {high} "
            f"in the first cell."
        )


def check_name(name: str, value: str, known: Sequence[str]) -> None:
    """Refuse what is not among the known names.

    Raises:
        UnknownName: it names the parameter, its value and the known ones.
    """
    if value not in known:
        raise UnknownName(
            f"Parameter {name}:", str(value), known, "what it may be"
        ) from None


def _heating(joint: str, robot: Robot) -> object:
    return next(motor.one_node for motor in robot.motors if joint in motor.joints)
