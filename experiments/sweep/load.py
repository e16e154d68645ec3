"""Read a sweep file: all that is wrong in it at once, or what it spans.

    spec = load_spec(Path("ankles.yaml"))

Nothing is started before all of the file is right.
"""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from controllers.registry import check_controllers
from experiments.heat.plan import DEFAULT_POSTURE
from experiments.presets import Preset, load_preset
from experiments.scenarios.reading.notes import Notes
from experiments.standing.fast_forward import FastForwardCfg
from experiments.standing.pushes import Push, check_in_time, check_pushes
from experiments.sweep.checks import check_value
from experiments.sweep.form.sweep_file import FastForwardForm, PushForm, SweepFile
from experiments.sweep.form.values import read_values
from experiments.sweep.identity import robot_digest
from experiments.sweep.joint_columns import Entry, joint_parameters, joints_of
from experiments.sweep.read_keep import read_keep
from experiments.sweep.spec import Parameter, SweepSpec, shortest_s
from experiments.sweep.trial import EFFORT_LIMIT, JOINT_PARAMETERS, MISALIGNMENT, START
from experiments.sweep.values import Fixed, Grid, Normal, Values, draw
from models import BadInput, Robot, default_robot_folder, load_robot
from models.tables import read_text
from models.yaml_lines import FileErrors, Place, read_file

PLAIN = (
    "minutes",
    "posture",
    "slope_deg",
    "friction",
    "other_start_degc",
    "gear_friction",
    "ambient_degc",
    "heating",
    "protection",
    "servo",
    "control_period",
)
"""Parameters with one value a trial, beside the controller, in the table's order."""
DEFAULT_MINUTES, DEFAULT_START_DEGC = 15.0, 30.0
ROBOTS_LOOKED_AT = 1000
"""Whose draws are tried beforehand, where a distribution has no bounds."""


def load_spec(path: Path, controllers: Sequence[str] = ()) -> SweepSpec:
    """Return what a sweep file asks for, every name known and every value possible.

    Args:
        path: of the file.
        controllers: in the place of the file's; none: those. They are part of what
            makes the sweep this one.

    Raises:
        BadInput: there is no such controller, or it comes twice.
        FileErrors: all that is wrong in the file, a line each, with `file:line`.
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
    loader = _Loader(path, form, notes)
    robot = notes.attempt(("robot",), loader.load_robot)
    preset = notes.attempt(("preset",), loader.load_preset)
    if robot is None:
        raise FileErrors(file.errors(notes.problems))
    spec = loader.read(robot, preset)
    loader.try_draws(robot, spec)
    file.refuse(notes.problems)
    return spec


def _left_out(place: Place) -> Place:
    """Return what a wrong value takes with it: an entry of a map, or all of the key."""
    return place[:2] if place and place[0] in JOINT_PARAMETERS else place[:1]


class _Loader:
    """One pass over a file whose form is right, or was made right."""

    def __init__(self, path: Path, form: SweepFile, notes: Notes) -> None:
        self._path = path
        self._form = form
        self._notes = notes

    def load_robot(self) -> Robot:
        return load_robot(self._folder() or default_robot_folder())

    def load_preset(self) -> Preset | None:
        return load_preset(self._form.preset) if self._form.preset else None

    def _folder(self) -> Path | None:
        """Return the robot's folder, from that of the file."""
        if self._form.robot is None:
            return None
        return (self._path.parent / Path(self._form.robot).expanduser()).resolve()

    def read(self, robot: Robot, preset: Preset | None) -> SweepSpec:
        form = self._form
        limits = {} if preset is None else preset.effort_limits
        if not self._notes.attempt(("preset",), robot.with_effort_limits, limits):
            limits = {}
        joints = {
            MISALIGNMENT: {} if preset is None else preset.misalignment_deg,
            START: {} if preset is None else preset.start_degc,
            EFFORT_LIMIT: limits,
        }
        parameters = [
            *(self._plain(robot, preset, name) for name in PLAIN),
            *(p for name in joints for p in self._joints(robot, name, joints[name])),
            self._parameter(robot, ("controller",), "controller", form.controller),
        ]
        return SweepSpec(
            name=form.name,
            about=form.about,
            path=self._path,
            text=read_text(self._path),
            robot_folder=self._folder(),
            robot_name=robot.name,
            robot_digest=robot_digest(self._folder()),
            robots=form.robots,
            seed=form.seed,
            preset=form.preset,
            parameters=tuple(p for p in parameters if p is not None),
            pushes=self._pushes(robot, shortest_s(p for p in parameters if p)),
            fast_forward=_fast_forward(form.fast_forward),
            keep=read_keep(form.keep, form.controller, robot, self._notes),
        )

    def _plain(
        self, robot: Robot, preset: Preset | None, name: str
    ) -> Parameter | None:
        value = getattr(self._form, name)
        if value is None:
            value = _default(robot, preset, name)
        if value is None:
            return None
        return self._parameter(robot, (name,), name, value)

    def _parameter(
        self, robot: Robot, place: Place, name: str, form: Any
    ) -> Parameter | None:
        values = self._values(robot, place, name, form)
        return None if values is None else Parameter(columns=(name,), values=values)

    def _values(
        self, robot: Robot, place: Place, column: str, form: Any
    ) -> Values | None:
        """Return what a form says, or None and note what is wrong with it."""
        values = self._notes.attempt(place, read_values, form)
        match values:
            case None:
                return None
            case Fixed():
                tried = [(place, values.value)]
            case Grid():
                tried = [((*place, i), v) for i, v in enumerate(values.values)]
            case _:
                tried = [(place, value) for value in values.extremes()]
        before = len(self._notes.problems)
        for where, value in tried:
            self._notes.attempt(where, check_value, robot, column, value)
        return values if len(self._notes.problems) == before else None

    def _joints(
        self, robot: Robot, name: str, preset: dict[str, float]
    ) -> list[Parameter]:
        entries = []
        for key, form in getattr(self._form, name).items():
            place = (name, key)
            joints = self._notes.attempt(place, joints_of, robot, key)
            for joint in joints or ():
                values = self._values(robot, place, f"{name}.{joint}", form)
                if values is None:
                    break
            else:
                if joints:
                    entries.append(Entry(key, joints, read_values(form)))
        known = {j: v for j, v in preset.items() if j in robot.joint_names}
        arguments = (robot, name, entries, known)
        return self._notes.attempt((name,), joint_parameters, *arguments) or []

    def try_draws(self, robot: Robot, spec: SweepSpec) -> None:
        """Look whether draws without bounds stay within those of the simulator."""
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
                        f"drawn for robot {number}: {error} Or give clip: [.., ..]."
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


def _default(robot: Robot, preset: Preset | None, name: str) -> Any:
    """Return what a parameter is that the file does not name; None: the simulator's."""
    if name == "minutes":
        return DEFAULT_MINUTES if preset is None else preset.minutes
    if name == "other_start_degc":
        return DEFAULT_START_DEGC if preset is None else preset.other_start_degc
    if name == "posture":
        if preset is not None:
            return preset.posture
        known = DEFAULT_POSTURE in robot.postures
        return DEFAULT_POSTURE if known else next(iter(robot.postures))
    return None


def _push(form: PushForm) -> Push:
    x, y, z = (float(value) for value in form.force_n)
    return Push(
        at_s=form.at_s,
        duration_s=form.duration_s,
        force_n=(x, y, z),
        link=form.link,
    )


def _fast_forward(form: FastForwardForm) -> FastForwardCfg | None:
    if form.full:
        return None
    given = {f.name: getattr(form, f.name, None) for f in fields(FastForwardCfg)}
    return FastForwardCfg(**{k: v for k, v in given.items() if v is not None})
