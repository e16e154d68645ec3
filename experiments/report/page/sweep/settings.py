"""How a sweep was made: every parameter, versions, seed, the file."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from experiments.report.page.event_tables import push_words
from experiments.report.page.views import Column, Row, Table
from experiments.sweep.plan_tables import words_of
from experiments.sweep.table import Sweep
from experiments.sweep.trial import Value
from experiments.sweep.values import Choice, Fixed, Grid, Normal, Uniform, Values
from models import BadInput

NO_PARAMETERS = {"robot", "robots", "seed", "pushes", "fast_forward", "keep"}
"""Keys of an identity that are said elsewhere."""
MOST_JOINTS = 3
"""Joints that are named one by one."""


def parameter_table(sweep: Sweep) -> Table:
    """A row a parameter and what it may be; joints that are alike share one."""
    rows = [Row(cells=line) for line in _lines(sweep.meta["identity"])]
    labels = ("parameter", "of", "values")
    return Table(
        caption="What was asked",
        columns=tuple(Column(label=label, is_number=False) for label in labels),
        rows=tuple(rows),
        note="A list is a grid, which every robot meets; a distribution is drawn once "
        "for each robot, from the seed, its number and the parameter's name alone.",
    )


def origin_table(sweep: Sweep) -> Table:
    """A row a fact about who ran the sweep, and with what."""
    meta = sweep.meta
    commits = sweep.frame["commit"].dropna().unique() if "commit" in sweep.frame else ()
    facts = {
        "name": meta["name"],
        "robot": meta["identity"].get("robot", "not known"),
        "robots": meta["robots"],
        "seed": meta["seed"],
        "started (UTC)": str(meta["started_utc"])
        .removesuffix("+00:00")
        .replace("T", " "),
        "commit": ", ".join(map(str, commits)) or meta["commit"] or "not known",
        **{
            name if name == "machine" else f"version of {name}": version
            for name, version in meta["versions"].items()
        },
    }
    return Table(
        caption="Where it comes from",
        columns=(
            Column(label="", is_number=False),
            Column(label="value", is_number=False),
        ),
        rows=tuple(Row(cells=(name, str(value))) for name, value in facts.items()),
    )


def values_from(data: object) -> Values | None:
    """Return what a parameter may be, as the folder has it; None for anything else."""
    try:
        match data:
            case {"fixed": {"value": str() | float() | int() as value}}:
                return Fixed(value)
            case {"grid": {"values": [*values]}}:
                return Grid(
                    tuple(v if isinstance(v, str) else float(v) for v in values)
                )
            case {"uniform": {"low": low, "high": high}}:
                return Uniform(float(low), float(high))
            case {"normal": {"mean": mean, "deviation": spread, "clip": [low, high]}}:
                clip = float(low), float(high)  # "-inf"
                return Normal(float(mean), float(spread), clip)
            case {"choice": {"options": [*options]}}:
                return Choice(tuple(map(_value, options)))
    except (BadInput, TypeError, ValueError, OverflowError):
        pass
    return None


def _value(value: object) -> Value:
    if isinstance(value, int | float | str):
        return value
    raise TypeError(type(value))


def _lines(identity: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    known = [
        (
            *name.partition(".")[::2],
            f"damaged: {data!r:.60}"
            if (values := values_from(data)) is None
            else words_of(values),
        )
        for name, data in identity.items()
        if name not in NO_PARAMETERS
    ]
    for (name, words), alike in groupby(known, lambda line: (line[0], line[2])):
        joints = [joint for _, joint, _ in alike]
        yield name, _few(joints), words
    for push in identity.get("pushes") or ():
        yield "push", "", push_words(push)
    if (jumps := identity.get("fast_forward", {})) is None:
        yield "fast-forward", "", "none: physics all the time"
    elif jumps:
        yield "fast-forward", "", ", ".join(f"{k} {v:g}" for k, v in jumps.items())
    if (keep := identity.get("keep")) is not None:
        near = ", ".join(
            f"{column} {target['value']:g} ± {target['tolerance']:g}"
            for column, target in keep["targets"].items()
        )
        mirrored = "; or so with left and right swapped" if keep["mirrored"] else ""
        yield "keep", keep["controller"], f"{near}{mirrored}"


def _few(joints: list[str]) -> str:
    if len(joints) <= MOST_JOINTS:
        return ", ".join(joints)
    return f"{joints[0]}, {joints[1]} and {len(joints) - 2} more"
