"""Form of a sweep file: parameters, values, number of robots, and kept robots.

A parameter has a single value, a list (a grid), or a distribution. The key `keep`
selects the robots for the other controllers; it is checked against the robot and the
controllers.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from nao_testbed.controllers.interface.ranges import FiniteFloat, Name
from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.common.form_parts import (
    Newton,
    Notes,
    Part,
    Prose,
    by_key,
    part_of,
)
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.published import PUBLISHED
from nao_testbed.experiments.sweep.spec import (
    Choice,
    Fixed,
    Grid,
    Keep,
    Normal,
    Target,
    Uniform,
    Values,
)
from nao_testbed.experiments.sweep.sweep_trial import (
    BY_NAME,
    EFFORT_LIMIT,
    SETTING,
    Value,
)
from nao_testbed.experiments.sweep.trial_store import JOINT_OUTCOMES, OUTCOMES
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import PositiveSeconds, Seconds

TwoNumbers = Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)]


def _each_once(values: list[Any]) -> list[Any]:
    if not values:
        raise ValueError("the grid is empty; give at least one value")
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{value!r} is given twice; give each value once")
    return values


def _at_least_one(options: list[Any]) -> list[Any]:
    if not options:
        raise ValueError("the list is empty; give at least one value")
    return options


class UniformForm(Part):
    """Uniform distribution."""

    uniform: TwoNumbers
    """Smallest and largest number."""


class NormalForm(Part):
    """Normal distribution."""

    normal: TwoNumbers
    """Mean and standard deviation."""
    clip: TwoNumbers | None = None
    """Smallest and largest number; a draw outside is repeated."""


class ChooseNumberForm(Part):
    """Equally likely numbers."""

    choice: Annotated[list[FiniteFloat], AfterValidator(_at_least_one)]
    """Values to choose from; a repeated value is more likely."""


class ChooseTextForm(Part):
    """Equally likely names."""

    choice: Annotated[list[Name], AfterValidator(_at_least_one)]
    """Values to choose from; a repeated value is more likely."""


NUMBER_KINDS: Mapping[str, type[Part]] = {
    "uniform": UniformForm,
    "normal": NormalForm,
    "choice": ChooseNumberForm,
}
TEXT_KINDS: Mapping[str, type[Part]] = {"choice": ChooseTextForm}


def _form_of(kinds: Mapping[str, type[Part]]) -> Discriminator:
    distribution = by_key("a distribution", kinds)

    def which(value: Any) -> Any:
        if isinstance(value, list):
            return "list"
        if isinstance(value, Mapping | Part):
            return distribution.discriminator(value)  # type: ignore[operator]  # a function
        return "value"

    return Discriminator(
        which,
        custom_error_type="no_kind",
        custom_error_message=f"give a value, a list, or one of {', '.join(kinds)}",
    )


Number = Annotated[
    Annotated[FiniteFloat, Tag("value")]
    | Annotated[list[FiniteFloat], AfterValidator(_each_once), Tag("list")]
    | Annotated[UniformForm, Tag("UniformForm")]
    | Annotated[NormalForm, Tag("NormalForm")]
    | Annotated[ChooseNumberForm, Tag("ChooseNumberForm")],
    _form_of(NUMBER_KINDS),
]
"""A number, a list of them, or `{uniform: [low, high]}`, `{normal: [mean, deviation],
clip: [low, high]}`, `{choice: [...]}`."""
Text = Annotated[
    Annotated[Name, Tag("value")]
    | Annotated[list[Name], AfterValidator(_each_once), Tag("list")]
    | Annotated[ChooseTextForm, Tag("ChooseTextForm")],
    _form_of(TEXT_KINDS),
]
"""A name, a list of them, or `{choice: [...]}`."""


def read_values(form: Any) -> Values:
    """Convert a form to values.

    Args:
        form: form of a `Number` or `Text`.

    Raises:
        BadInput: the numbers of a distribution are inconsistent.
    """
    match form:
        case UniformForm():
            low, high = form.uniform
            return Uniform(float(low), float(high))
        case NormalForm():
            mean, deviation = (float(value) for value in form.normal)
            if form.clip is None:
                return Normal(mean, deviation)
            low, high = form.clip
            return Normal(mean, deviation, (float(low), float(high)))
        case ChooseNumberForm() | ChooseTextForm():
            return Choice(tuple(_value(option) for option in form.choice))
        case list():
            return Grid(tuple(_value(value) for value in form))
        case _:
            return Fixed(_value(form))


def _value(value: float | str) -> Value:
    """Convert integers to floats, so that 1 and 1.0 are the same trial."""
    return value if isinstance(value, str) else float(value)


Tolerance = Annotated[FiniteFloat, Field(gt=0.0)]


class KeepForm(Part):
    """Rule for kept robots: only robots near a target run with all controllers."""

    controller: Name
    """Controller of the sweep with which all robots run."""
    near: Literal["published"] | dict[Name, FiniteFloat]
    """Outcome to its target. An outcome is a column of the table, or a joint for its
    final temperature. `published`: the column `without` of ES2659053."""
    within: Annotated[dict[Name, Tolerance], Field(min_length=1)]
    """Outcome to the largest deviation from its target; other outcomes are ignored."""
    mirrored: bool = False
    """True: also keep a robot that fits with left and right swapped."""


AtLeastOne = Annotated[int, Field(ge=1)]


class SweepPushForm(Part):
    """Constant force on the centre of mass of a link for a limited time."""

    at_s: Seconds = 6.0
    """Start in s."""
    duration_s: PositiveSeconds = 0.2
    """Duration in s."""
    force_n: Annotated[list[Newton], Field(min_length=3, max_length=3)]
    """Force in N in the world frame: x in front of the robot, y to its left, z up."""
    link: Name | None = None
    """Pushed link; absent: the base, the torso of a NAO."""


def _reject_text(direction: Any) -> Any:
    for one in direction if isinstance(direction, list) else (direction,):
        if isinstance(one, str):
            raise ValueError(
                "give it in degrees: 0 pushes ahead, 90 to the robot's left, 180 back, "
                "-90 to its right"
            )
    return direction


class DrawnPushForm(Part):
    """Push of every robot; each number is a value, a list or a distribution."""

    direction_deg: Annotated[Number, BeforeValidator(_reject_text)]
    """Direction of the force, seen from the robot at its start, in degrees: 0 forwards,
    90 to its left, 180 backwards, -90 or 270 to its right."""
    size_n: Number
    """Magnitude in N; 0: no push."""
    duration_s: Number = 0.2
    """Duration in s."""
    at_s: Number = 6.0
    """Start in s."""
    link: Text | None = None
    """Pushed link; absent: the base, the torso of a NAO."""
    again_s: Number | None = None
    """Time in s from its end to a second, equal push; absent or 0: no second push."""
    quiet_s: PositiveSeconds | None = 1.0
    """Quiet time in s after the push that ends a trial; null: the trial runs for its
    full time."""


class FullForm(Part):
    """Fast-forward settings; none if `full` is true."""

    full: bool = False
    """True: continuous physics."""


if TYPE_CHECKING:
    FastForwardForm = FullForm
else:
    FastForwardForm = part_of(
        FastForwardCfg, "FastForwardForm", FullForm.__doc__, base=FullForm
    )


class SweepHead(Part):
    """Keys of a sweep other than the setting of its robots."""

    name: Name
    """Name of the sweep."""
    about: Prose | None = None
    """Purpose of the sweep."""
    robot: Name | None = None
    """Name of a built-in robot, or folder of another one, from this file's folder;
    absent: the NAO."""
    robots: AtLeastOne = 1
    """Number of robots drawn from the distributions."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of all draws and all sensor noise."""
    preset: Name | None = None
    """Base settings, such as `document`, overridden by this file."""
    controller: Text | None = None
    """Controllers in the format of `--controllers`: fixed, smart, constant:0.6;
    absent: the policies alone."""
    policy: Name | list[Name] = Field(default_factory=list)
    """Policies beside the controllers, from this file's folder: `ppo.onnx`,
    `ppo.onnx+command=0.3/0/0`, `mine.py:CLASS`."""
    minutes: Number | None = None
    """Simulated time of a trial in min; absent: the preset's, or 15."""
    effort_limit_nm: dict[Name, Number] = Field(default_factory=dict)
    """Torque of joints at stiffness 1, in N·m; absent: the preset's or the robot's."""
    pushes: list[SweepPushForm] = Field(default_factory=list)
    """Pushes of every robot."""
    push: DrawnPushForm | None = None
    """Additional push, whose direction, size, duration and time may be lists or
    distributions."""
    cases: dict[Name, dict[Name, FiniteFloat | Name]] = Field(default_factory=dict)
    """Name to values by column of the table, such as `push.size_n: 7`: each case runs
    at every point of the grids."""
    keep: KeepForm | None = None
    """Rule for the robots that run with all controllers; absent: all robots."""
    fast_forward: FastForwardForm = Field(default_factory=FastForwardForm)
    """Settings of fast-forward; absent: as in `nao-testbed heat`."""


def _in_sweep(kind: Any) -> Any:
    """Return the form of a field of the setting in a sweep, from the field's type.

    A field by joint also accepts groups of joints such as Legs or LArm. A list for a
    group is one grid, with the same value for all its joints; a distribution is drawn
    for each joint.
    """
    bare = kind.__origin__ if get_origin(kind) is Annotated else kind
    (value, *others) = get_args(bare) or (bare,)
    if get_origin(bare) is Mapping:
        return dict[Name, Text] if others == [str] else dict[Name, Number]
    several = Number if getattr(value, "__origin__", value) is float else Text
    return several | None if type(None) in others else several


if TYPE_CHECKING:
    SweepFile = SweepHead
else:
    SweepFile = part_of(
        RobotSetting,
        "SweepFile",
        "A sweep: every grid point for every sampled robot.",
        (*SETTING, *(name for name in BY_NAME if name != EFFORT_LIMIT)),
        _in_sweep,
        base=SweepHead,
    )


_WITHOUT = PUBLISHED["fixed"]
NEAR_PUBLISHED: Mapping[str, float] = {
    "left_leg_rise_k": _WITHOUT.left_leg_rise_k,
    "right_leg_rise_k": _WITHOUT.right_leg_rise_k,
    "hottest_degc": max(_WITHOUT.end_degc.values()),
    **{f"end_degc.{joint}": end for joint, end in _WITHOUT.end_degc.items()},
}
"""Column to the target of `near: published` [ES2659053T3, fig. 4a to 5b]."""
COLUMNS = ("hottest_degc", *(n for n in OUTCOMES if n not in {"fell", "failure"}))
"""Outcomes of a trial that can have a target, besides those of joints."""


def read_keep(
    form: KeepForm | None, controllers: Any, robot: Robot, notes: Notes
) -> Keep | None:
    """Return the rule for kept robots; None without the key `keep`.

    Args:
        form: form of the file.
        controllers: form of the key `controller`.
        robot: robot with the joints.
        notes: receives all problems.
    """
    if form is None:
        return None
    _check_controller(form.controller, controllers, notes)
    near = _near(form, robot, notes)
    targets = {}
    for name, tolerance in form.within.items():
        place = ("keep", "within", name)
        column = notes.attempt(place, column_of, name, robot.joint_names)
        if column is not None:
            wanted = notes.attempt(place, wanted_value, column, near)
            if wanted is not None:
                targets[column] = Target(value=wanted, tolerance=float(tolerance))
    return Keep(controller=form.controller, targets=targets, mirrored=form.mirrored)


def _check_controller(name: str, controllers: Any, notes: Notes) -> None:
    match controllers:
        case str():
            names = [controllers]
        case list():
            names = controllers
        case _:
            problem = "controller is sampled per robot; with keep, give a list."
            notes.add(("controller",), problem)
            return
    where = "the controllers of this sweep"
    notes.is_known(("keep", "controller"), "Controller", name, names, where)


def _near(form: KeepForm, robot: Robot, notes: Notes) -> dict[str, float]:
    if isinstance(form.near, str):
        return dict(NEAR_PUBLISHED)
    near = {}
    for name, value in form.near.items():
        place = ("keep", "near", name)
        column = notes.attempt(place, column_of, name, robot.joint_names)
        if column is not None:
            near[column] = float(value)
    return near


def column_of(name: str, joints: Iterable[str]) -> str:
    """Return the column of the table for a name in the file.

    Args:
        name: a column, or a joint for its final temperature.
        joints: all joints of the robot.

    Raises:
        UnknownName: the name is neither.
    """
    names = tuple(joints)
    if name in names:
        return f"end_degc.{name}"
    of_joints = tuple(f"{field}.{joint}" for field in JOINT_OUTCOMES for joint in names)
    if name in COLUMNS or name in of_joints:
        return name
    known = (*COLUMNS, *names, *of_joints)
    raise UnknownName("Outcome", name, known, "the table of a sweep")


def wanted_value(column: str, near: Mapping[str, float]) -> float:
    """Return the target of an outcome.

    Raises:
        BadInput: the outcome has no target.
    """
    if column not in near:
        raise BadInput(
            f"near has no {column}, only {', '.join(near) or 'no values'}; give its "
            "value there, or leave it out of within."
        )
    return near[column]
