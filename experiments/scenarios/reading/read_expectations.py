"""The expectations of a scenario file; what could never be so is noted at once."""

from collections.abc import Callable, Mapping
from typing import Any

from experiments.scenarios.form import expectations as f
from experiments.scenarios.form.base import Part
from experiments.scenarios.plan import expectations as x
from experiments.scenarios.reading.one_line import one_line
from experiments.scenarios.reading.read_at_time import Item, read_at_time
from experiments.scenarios.reading.read_conditions import read_condition
from experiments.scenarios.reading.scene import Scene
from models.library import Unit
from models.yaml_lines import Place


def read_expectation(
    form: Part, place: Place, scene: Scene, tree: Any, line: int
) -> x.Expectation | None:
    """Return an expectation; None, and notes, where something in it is wrong.

    Args:
        form: of the expectation.
        place: of the expectation in the file.
        scene: what it may name.
        tree: the expectation as it was read.
        line: of the expectation in the file.
    """
    item = Item(form=form, place=place, scene=scene, text=one_line(tree), line=line)
    return _READERS[type(form)](item)


def _happens(item: Item) -> x.Expectation | None:
    form, place, scene = item.form, item.place, item.scene
    condition = read_condition(form.happens, (*place, "happens"), scene)
    if form.at_s is None:
        where = _where(item)
    else:
        tick = scene.moment((*place, "at_s"), form.at_s)
        near = scene.ticks((*place, "within_s"), form.within_s or 0.0)
        last = scene.duration_ticks - 1
        where = x.Window(first=max(0, tick - near), last=min(last, tick + near))
    if condition is None or where is None:
        return None
    return x.Happens(
        text=item.text,
        line=item.line,
        condition=condition,
        where=where,
        times=form.times,
    )


def _never(item: Item) -> x.Expectation | None:
    condition = read_condition(item.form.never, (*item.place, "never"), item.scene)
    where = _where(item)
    if condition is None or where is None:
        return None
    return x.Happens(
        text=item.text, line=item.line, condition=condition, where=where, times=0
    )


def _where(item: Item) -> x.Window | x.After | None:
    form, place, scene = item.form, item.place, item.scene
    if form.after is None:
        return _window(item)
    after = read_condition(form.after, (*place, "after"), scene)
    if after is None:
        return None
    return x.After(condition=after, within_ticks=form.within_slots)


def _window(item: Item) -> x.Window:
    form, place, scene = item.form, item.place, item.scene
    first, last = 0, scene.duration_ticks - 1
    if form.from_s is not None:
        first = scene.moment((*place, "from_s"), form.from_s)
    if form.to_s is not None:
        to = scene.ticks((*place, "to_s"), form.to_s)
        if to > scene.duration_ticks:
            scene.moment((*place, "to_s"), form.to_s)
        last = min(to, last)
    if first > last:
        scene.notes.add(
            (*place, "to_s"),
            f"impossible: from_s {first * scene.tick_s:g} s is after to_s "
            f"{last * scene.tick_s:g} s; exchange them.",
        )
    return x.Window(first=first, last=last)


def _order(item: Item) -> x.Expectation | None:
    found = [
        read_condition(form, (*item.place, "order", i), item.scene)
        for i, form in enumerate(item.form.order)
    ]
    conditions = tuple(one for one in found if one is not None)
    return x.InOrder(text=item.text, line=item.line, conditions=conditions)


def _temperatures(item: Item) -> x.Expectation | None:
    form, place, scene = item.form, item.place, item.scene
    names = form.joint if isinstance(form.joint, list) else [form.joint]
    joints = tuple(
        dict.fromkeys(
            joint for name in names for joint in scene.joints((*place, "joint"), name)
        )
    )
    window = _window(item)
    below, above = form.degc_below, form.degc_above
    if below is not None and above is not None and below <= above:
        scene.notes.add(
            (*place, "degc_below"),
            f"impossible: below {below:g} °C and above {above:g} °C; raise the one or "
            "lower the other.",
        )
    for joint in joints if window.first == 0 else ():
        start = scene.start_degc[joint]
        for key, limit, is_out in (
            ("degc_below", below, below is not None and start >= below),
            ("degc_above", above, above is not None and start <= above),
        ):
            if is_out:
                scene.notes.add(
                    (*place, key),
                    f"impossible: {joint} begins at {start:g} °C, and {key} is "
                    f"{limit:g} °C from the start; give from_s, or another limit.",
                )
    return x.Temperatures(
        text=item.text,
        line=item.line,
        joints=joints,
        below_degc=below,
        above_degc=above,
        window=window,
    )


def _group(item: Item) -> x.Expectation | None:
    form, place, scene = item.form, item.place, item.scene
    scene.group((*place, "group"), form.group)
    if form.starts_after == x.INITIAL_MOTION:
        _note_no_start(item)
    elif form.starts_after is not None:
        scene.group((*place, "starts_after"), form.starts_after)
    return x.StartsTogether(
        text=item.text,
        line=item.line,
        group=form.group,
        after=form.starts_after,
        empty_slots=form.empty_slots,
        skew_slots=form.skew_slots,
    )


def _note_no_start(item: Item) -> None:
    """Note a command that begins in any posture: no initial motion leads there."""
    library = item.scene.robot.library
    order = library.orders.get(item.form.group)
    if order is None:
        return  # another id than a command's name
    motion = library.motions.get(order.outputs.get(Unit.MOTION, ""))
    if motion is None or motion.start is None:
        item.scene.notes.add(
            (*item.place, "starts_after"),
            f"impossible: command {order.name!r} has no motion that begins in a stated "
            "posture, so no initial motion leads there; leave starts_after out.",
        )


def _counts(item: Item) -> x.Expectation | None:
    form, place, scene = item.form, item.place, item.scene
    role = scene.owner((*place, "owner"), form.owner)
    counts = {
        key: _count(item, key) for key in ("executed", "refused", "granted", "demanded")
    }
    if role is None:
        return None
    return x.Counts(text=item.text, line=item.line, owner=role.path, **counts)


def _count(item: Item, key: str) -> x.Count | None:
    given = getattr(item.form, key)
    if given is None:
        return None
    low, high = given if isinstance(given, list) else (given, given)
    if low > high:
        item.scene.notes.add(
            (*item.place, key),
            f"impossible: at least {low} and at most {high}; exchange them.",
        )
    return x.Count(lowest=low, highest=high)


_READERS: Mapping[type, Callable[[Item], x.Expectation | None]] = {
    f.AtTimeExpectation: read_at_time,
    f.HappensExpectation: _happens,
    f.NeverExpectation: _never,
    f.OrderExpectation: _order,
    f.TemperatureExpectation: _temperatures,
    f.GroupExpectation: _group,
    f.CountsExpectation: _counts,
}
