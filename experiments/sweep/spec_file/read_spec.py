"""Reader of a sweep file that reports all problems at once.

    spec = read_spec(Path("ankles.yaml"))

Nothing is started before the whole file is valid. Values are checked by the rules of
the simulator (`check_value`). The robot determines the columns of a joint or a group of
joints (`joint_parameters`).
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nao_testbed.controllers.policies.text import PACKAGE, policy_text
from nao_testbed.controllers.registry import check_controller, check_controllers
from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import Push, check_in_time, check_pushes
from nao_testbed.experiments.common.builtin_files import BuiltinFiles
from nao_testbed.experiments.common.form_parts import Notes
from nao_testbed.experiments.common.ranges import LONGEST_MINUTES
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.published import load_preset
from nao_testbed.experiments.sweep.spec import (
    CASE,
    Fixed,
    Grid,
    Normal,
    Parameter,
    SweepSpec,
    Values,
    draw,
    extremes_of,
    shortest_s,
)
from nao_testbed.experiments.sweep.spec_file import (
    FastForwardForm,
    SweepFile,
    SweepPushForm,
    read_keep,
    read_values,
)
from nao_testbed.experiments.sweep.spec_file.cases import Cases, read_cases
from nao_testbed.experiments.sweep.sweep_trial import (
    AGAIN,
    BY_JOINT,
    BY_NAME,
    DELAYS,
    MISALIGNMENT,
    NO_OBSTACLE,
    OBSTACLES,
    PAYLOAD,
    PUSH,
    PUSH_PARAMETERS,
    QUIET,
    SETTING,
    Value,
    pushes_towards,
)
from nao_testbed.experiments.sweep.trial_store import policy_digest, robot_digest
from nao_testbed.models import (
    BadInput,
    Robot,
    UnknownName,
    default_robot_folder,
    load_robot,
)
from nao_testbed.models.files.csv_tables import read_text_of
from nao_testbed.models.files.yaml_forms import FileErrors, Place, read_file
from nao_testbed.models.folders import find_robot_folder, robot_names
from nao_testbed.models.resources import DeviceKind
from nao_testbed.sim.engine.obstacles import obstacles_of


@dataclass(frozen=True, slots=True)
class JointEntry:
    """Key of the file, such as `LAnklePitch` or `legs`, with its values."""

    key: str
    joints: tuple[str, ...]
    """Joints of the key, in joint order."""
    values: Values

    @property
    def is_group(self) -> bool:
        """True if the key is not the name of a single joint."""
        return self.joints != (self.key,)


def joints_of(robot: Robot, key: str) -> tuple[str, ...]:
    """Return the joints of a key, in joint order.

    Args:
        robot: robot with the joints.
        key: a joint; a group of `robot.yaml`; or a resource with motors, such as `Left
            leg`. Groups and resources may be in upper or lower case.

    Raises:
        UnknownName: the key is none of them.
    """
    if key in robot.joint_names:
        return (key,)
    groups = _groups(robot)
    meant = {name.lower(): name for name in groups}.get(key.lower())
    if meant is None:
        known = (*groups, *robot.joint_names)
        raise UnknownName("Joint or group", key, known, f"robot {robot.name!r}")
    return tuple(name for name in robot.joint_names if name in groups[meant])


def _groups(robot: Robot) -> dict[str, frozenset[str]]:
    """Return group to joints; the robot's groups take precedence over resources."""
    found: dict[str, frozenset[str]] = {}
    for node in robot.resources.walk():
        motors = {
            motor
            for below in node.walk()
            if below.device is not None and below.device.kind is DeviceKind.MOTOR
            for motor in below.device.names
        }
        if motors and node.name != robot.resources.name:
            joints = {j.name for j in robot.joints if j.motor in motors}
            if node.name not in robot.joint_names:
                found[node.name] = frozenset(joints)
    own = {name: frozenset(joints) for name, joints in robot.groups.items()}
    taken = {name.lower() for name in own}
    return own | {k: v for k, v in found.items() if k.lower() not in taken}


def joint_parameters(
    robot: Robot,
    name: str,
    entries: list[JointEntry],
    preset: Mapping[str, float],
) -> list[Parameter]:
    """Return the parameters of one of `BY_JOINT`.

    A named joint takes precedence over its group, and both over the preset. A
    distribution of a group is drawn for each of its joints. Joints that share a motor
    share its parameters, which are all except the misalignment.

    Args:
        robot: robot with the joints.
        name: name of the parameter.
        entries: entries of the file.
        preset: joint to value.

    Raises:
        BadInput: two entries claim one joint.
    """
    first = robot.motors_of_joint.min(axis=1)  # one for all joints of parallel motors
    motor_of = {
        name: robot.motor_names[m]
        for name, m in zip(robot.joint_names, first, strict=True)
    }
    unit_of = {j: j for j in motor_of} if name == MISALIGNMENT else motor_of
    claims: dict[str, JointEntry] = {}
    for entry in sorted(entries, key=lambda entry: entry.is_group):
        for unit in dict.fromkeys(unit_of[joint] for joint in entry.joints):
            first = claims.setdefault(unit, entry)
            if first is entry or (entry.is_group and not first.is_group):
                continue
            raise BadInput(
                f"{name} of {unit} is given twice, by {first.key!r} and "
                f"{entry.key!r}; keep one, or name the joint itself."
            )
    found = [
        Parameter(columns=(f"{name}.{joint}",), values=Fixed(float(value)))
        for joint, value in preset.items()
        if unit_of[joint] not in claims
    ]
    for entry in entries:
        units = [unit for unit, claim in claims.items() if claim is entry]
        members = [
            tuple(f"{name}.{joint}" for joint in unit_of if unit_of[joint] == unit)
            for unit in units
        ]
        if isinstance(entry.values, Fixed | Grid) and members:
            members = [tuple(column for columns in members for column in columns)]
        found += [
            Parameter(columns=columns, values=entry.values) for columns in members
        ]
    return found


SHORTEST_MINUTES = 0.01
"""Shortest trial in min: a block of physics."""


def _check_minutes(value: float) -> None:
    if not SHORTEST_MINUTES <= value <= LONGEST_MINUTES:
        raise BadInput(
            f"minutes is {value:g}; give a number from {SHORTEST_MINUTES:g} to "
            f"{LONGEST_MINUTES:g}."
        )


def check_value(robot: Robot, column: str, value: Value) -> None:
    """Check that a value is valid for a trial.

    Args:
        robot: robot of the trial.
        column: column of the parameter.
        value: value of the parameter.

    Raises:
        BadInput: the value is invalid.
    """
    name, dot, joint = column.partition(".")
    if name == "controller":
        check_controller(str(value), robot)
    elif name == "minutes":
        _check_minutes(float(value))
    elif name == PUSH:
        check_pushes(pushes_towards(**{**_HARMLESS, joint: value}), robot)
    elif name == OBSTACLES:
        obstacles_of({} if value == NO_OBSTACLE else {joint: str(value)})
    else:
        given: dict[str, Any] = {BY_NAME.get(name, name): value}
        if dot:
            given = {BY_NAME[name]: {joint: value}}
        RobotSetting(**given).check(robot)


_HARMLESS: Mapping[str, Any] = {"direction_deg": 0.0, "size_n": 0.0}

SWEEPS = BuiltinFiles(kind="sweep", folder=Path(__file__).resolve().parent / "builtin")


PLAIN = ("minutes", *SETTING)
"""Parameters with one value per trial, besides the controller, in the order of the
table."""
DEFAULT_MINUTES, DEFAULT_START_DEGC = 15.0, 30.0
ROBOTS_LOOKED_AT = 1000
"""Number of robots whose draws are checked in advance for distributions without
bounds."""


def read_spec(
    path: Path, controllers: Sequence[str] = (), robots: int | None = None
) -> SweepSpec:
    """Read and validate a sweep file.

    Args:
        path: path of the file.
        controllers: controllers that replace those of the file; empty: those of the
            file. They are part of the sweep's identity.
        robots: number of robots that replaces that of the file; None: that of the file.

    Raises:
        BadInput: a controller is unknown or repeated.
        FileErrors: all problems of the file, one per line, with `file:line`.
    """
    if controllers:
        check_controllers(controllers)
    file = read_file(path, SweepFile, _left_out)
    if file.value is None:
        raise FileErrors(file.errors())
    notes = Notes()
    form = file.value
    if controllers:
        named = controllers[0] if len(controllers) == 1 else list(controllers)
        form = form.model_copy(update={"controller": named})
    elif form.policy or form.controller is None:
        found = notes.attempt(("policy",), _with_policies, form, path.parent)
        form = form.model_copy(update={"controller": found or "fixed"})
    if robots is not None:
        form = form.model_copy(update={"robots": robots})
    spec = _SpecReader(path, form, notes).read()
    file.refuse(notes.problems)
    assert spec is not None  # otherwise a problem was added
    return spec


def _with_policies(form: SweepFile, folder: Path) -> list[str] | str:
    """Return the controllers of a file, those of its policies last.

    Raises:
        BadInput: there are none, one is drawn and others are policies, or a package
            is not installed.
    """
    given = [form.policy] if isinstance(form.policy, str) else form.policy
    found = [
        policy_text(one if one.startswith(PACKAGE) else str((folder / one).resolve()))
        for one in given
    ]
    match form.controller:
        case None:
            pass
        case str(name):
            found.insert(0, name)
        case list(names):
            found[:0] = names
        case _:
            raise BadInput("each robot draws a controller; remove the key policy.")
    if not found:
        raise BadInput("key 'controller' is missing; give it, or policy.")
    if len(set(found)) < len(found):
        raise BadInput(f"policy is {', '.join(given)}; name each controller once.")
    return found if len(found) > 1 else found[0]


def _left_out(place: Place) -> Place:
    """Return the place to omit because of an invalid value: an entry, or the key."""
    return place[:2] if place and place[0] in BY_NAME else place[:1]


class _SpecReader:
    """Reader of a file whose invalid entries were left out."""

    def __init__(self, path: Path, form: SweepFile, notes: Notes) -> None:
        self._path = path
        self._form = form
        self._notes = notes
        folder = None if form.robot is None else Path(form.robot).expanduser()
        if form.robot in robot_names():
            folder = find_robot_folder(form.robot)
        self._folder = None if folder is None else (path.parent / folder).resolve()

    def read(self) -> SweepSpec | None:
        """Return the sweep; None without a valid robot."""
        form, notes = self._form, self._notes
        folder = self._folder or default_robot_folder()
        robot = notes.attempt(("robot",), load_robot, folder)
        preset = RobotSetting()
        minutes = DEFAULT_MINUTES
        if form.preset is not None:
            found = notes.attempt(("preset",), load_preset, form.preset)
            if found is not None:
                preset, minutes = found.setting, found.minutes
        if robot is None:
            return None
        if not notes.attempt(
            ("preset",), robot.with_effort_limits, preset.effort_limits
        ):
            preset = replace(preset, effort_limits={})
        usual = {
            "minutes": minutes,
            "posture": preset.posture_of(robot),
            "other_start_degc": preset.other_start_degc or DEFAULT_START_DEGC,
        }
        given = {
            name: usual.get(name) if value is None else value
            for name, value in form
            if name in PLAIN
        } | {name: getattr(form, name) or None for name in DELAYS}
        loads = getattr(form, PAYLOAD).items()
        named = Grid(tuple(form.cases))
        parameters = [
            *(self._parameter(robot, (name,), given[name]) for name in PLAIN),
            *(p for name in BY_JOINT for p in self._joints(robot, name, preset)),
            *(self._parameter(robot, (PAYLOAD, at), kg) for at, kg in loads),
            *self._obstacles(robot, preset),
            *([Parameter(columns=(CASE,), values=named)] if named.values else []),
            self._parameter(robot, ("controller",), form.controller),
            *self._push_parameters(robot),
        ]
        known = tuple(p for p in parameters if p is not None)
        cases = read_cases(form.cases, known, robot, check_value, notes)
        self._check_push_in_time(known, cases)
        spec = SweepSpec(
            name=form.name,
            about=form.about,
            path=self._path,
            text=read_text_of(self._path),
            robot_folder=self._folder,
            robot_name=robot.name,
            thermal=robot.thermal,
            robot_digest=robot_digest(self._folder),
            policy_digest=self._policy_digest(known),
            robots=form.robots,
            seed=form.seed,
            preset=form.preset,
            parameters=known,
            pushes=self._pushes(robot, shortest_s(known)),
            fast_forward=_fast_forward(form.fast_forward),
            keep=read_keep(form.keep, form.controller, robot, notes),
            cases=cases,
        )
        self._try_draws(robot, spec)
        return spec

    def _policy_digest(self, known: Iterable[Parameter]) -> str:
        values = (p.values for p in known if p.name == "controller")
        named = (one for value in values for one in extremes_of(value))
        return self._notes.attempt(("policy",), policy_digest, named) or ""

    def _parameter(self, robot: Robot, place: Place, form: Any) -> Parameter | None:
        """Return the parameter of a form; None if the form is absent or invalid."""
        column = ".".join(map(str, place))
        values = None if form is None else self._values(robot, place, column, form)
        return None if values is None else Parameter(columns=(column,), values=values)

    def _values(
        self, robot: Robot, place: Place, column: str, form: Any
    ) -> Values | None:
        """Return the values of a form, or None after adding its problem."""
        values = self._notes.attempt(place, read_values, form)
        if values is None:
            return None
        tried = [(place, value) for value in extremes_of(values)]
        if isinstance(values, Grid):
            tried = [((*place, i), value) for i, (_, value) in enumerate(tried)]
        before = len(self._notes.problems)
        for where, value in tried:
            self._notes.attempt(where, check_value, robot, column, value)
        return values if len(self._notes.problems) == before else None

    def _joints(self, robot: Robot, name: str, preset: RobotSetting) -> list[Parameter]:
        entries = []
        for key, form in getattr(self._form, name).items():
            joints = self._notes.attempt((name, key), joints_of, robot, key) or ()
            found = []
            for joint in joints:
                found.append(self._values(robot, (name, key), f"{name}.{joint}", form))
                if found[-1] is None:
                    break
            if found and found[-1] is not None:
                entries.append(JointEntry(key, joints, found[-1]))
        of_preset = getattr(preset, BY_JOINT[name]).items()
        known = {j: v for j, v in of_preset if j in robot.joint_names}
        arguments = (robot, name, entries, known)
        return self._notes.attempt((name,), joint_parameters, *arguments) or []

    def _obstacles(self, robot: Robot, preset: RobotSetting) -> Iterator[Parameter]:
        """Yield the obstacles, checked against the robot in each posture."""
        form: Any = self._form
        postures: Iterable[Any] = (preset.posture,)
        if form.posture is not None:
            postures = extremes_of(read_values(form.posture))
        for name, value in form.obstacles.items():
            place = (OBSTACLES, name)
            found = self._parameter(robot, place, value)
            if found is None:
                continue
            yield found
            boxes = [str(v) for v in extremes_of(found.values) if v != NO_OBSTACLE]
            for box, posture in itertools.product(boxes, postures):
                if posture is None or posture in robot.postures:
                    setting = RobotSetting(posture=posture, obstacles={name: box})
                    self._notes.attempt(place, setting.check, robot)

    def _push_parameters(self, robot: Robot) -> list[Parameter | None]:
        """Return the parameters of the drawn push, which come last.

        All pushes of one robot under one controller then follow each other, and the
        robot settles once for them (`experiments.sweep.settled`).
        """
        form = self._form.push
        if form is None:
            return []
        found = [
            self._parameter(robot, (PUSH, name), getattr(form, name))
            for name in PUSH_PARAMETERS
        ]
        if form.quiet_s is not None:
            found.append(Parameter(columns=(QUIET,), values=Fixed(form.quiet_s)))
        return found

    def _check_push_in_time(
        self, parameters: Sequence[Parameter], cases: Cases
    ) -> None:
        """Add a problem if the latest, longest push ends after the shortest trial."""
        names = tuple(f"{PUSH}.{name}" for name in ("at_s", "duration_s", AGAIN))
        last = {
            p.name: max(map(float, extremes_of(p.values)))
            for p in parameters
            if p.name in names
        }
        if len(last) < 2:
            return
        shortest = shortest_s(parameters)
        for case, given in {"": {}, **cases}.items():
            at_s, duration_s, again_s = (
                float(given.get(name, last.get(name, 0.0))) for name in names
            )
            timing = {"at_s": at_s, "duration_s": duration_s, AGAIN: again_s}
            pushes = pushes_towards(**_HARMLESS, **timing)
            place = ("cases", case) if case else (PUSH,)
            self._notes.attempt(place, check_in_time, pushes, shortest)

    def _try_draws(self, robot: Robot, spec: SweepSpec) -> None:
        """Check that unbounded draws stay within the simulator's ranges."""
        for parameter in spec.drawn:
            values = parameter.values
            if not isinstance(values, Normal) or values.is_clipped:
                continue
            for number in range(min(spec.robots, ROBOTS_LOOKED_AT)):
                value = draw(values, spec.seed, number, parameter.name)
                try:
                    check_value(robot, parameter.name, value)
                except BadInput as error:
                    problem = (
                        f"sampled for robot {number}: {error} Or give clip: [.., ..]."
                    )
                    self._notes.add((parameter.name.partition(".")[0],), problem)
                    break

    def _pushes(self, robot: Robot, shortest_s: float) -> tuple[Push, ...]:
        found = []
        for i, form in enumerate(self._form.pushes):
            push = _push(form)
            self._notes.attempt(("pushes", i), check_pushes, [push], robot)
            self._notes.attempt(("pushes", i), check_in_time, [push], shortest_s)
            found.append(push)
        return tuple(found)


def _push(form: SweepPushForm) -> Push:
    x, y, z = (float(value) for value in form.force_n)
    return Push(
        at_s=form.at_s,
        duration_s=form.duration_s,
        force_n=(x, y, z),
        link=form.link,
    )


def _fast_forward(form: FastForwardForm) -> FastForwardCfg | None:
    given = form.model_dump(exclude={"full"})
    return None if form.full else FastForwardCfg(**given)
