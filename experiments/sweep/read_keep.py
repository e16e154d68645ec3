"""Read the key `keep` of a sweep file, against the robot and its controllers."""

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.scenarios.reading.notes import Notes
from experiments.standing.published import PUBLISHED
from experiments.sweep.form.keep import KeepForm
from experiments.sweep.keep import Keep, Target
from experiments.sweep.table import JOINT_OUTCOMES, OUTCOMES
from models import BadInput, Robot, UnknownName

_WITHOUT = PUBLISHED["fixed"]
NEAR_PUBLISHED: Mapping[str, float] = {
    "left_leg_rise_k": _WITHOUT.left_leg_rise_k,
    "right_leg_rise_k": _WITHOUT.right_leg_rise_k,
    "hottest_degc": max(_WITHOUT.end_degc.values()),
    **{f"end_degc.{joint}": end for joint, end in _WITHOUT.end_degc.items()},
}
"""What `near: published` means, by column [ES2659053T3, fig. 4a to 5b]."""
COLUMNS = ("hottest_degc", *(n for n in OUTCOMES if n not in {"fell", "failure"}))
"""Outcomes of a trial that may be near something, beside those of joints."""


def read_keep(
    form: KeepForm | None, controllers: Any, robot: Robot, notes: Notes
) -> Keep | None:
    """Return which robots are kept, None where nothing is said of it.

    Args:
        form: of the file.
        controllers: the form of its key `controller`.
        robot: whose joints may be named.
        notes: told of all that is wrong.
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
            problem = "each robot draws one controller; with keep, give a list of them."
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
    """Return the column of the table that a name of the file means.

    Args:
        name: a column, or a joint for its temperature at the end.
        joints: all joints of the robot.

    Raises:
        UnknownName: it is neither.
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
    """Return what an outcome shall be near to.

    Raises:
        BadInput: that is not said.
    """
    if column not in near:
        raise BadInput(
            f"near says nothing of {column}, only of {', '.join(near) or 'nothing'}; "
            "say what it shall be near to, or leave it out of within."
        )
    return near[column]
