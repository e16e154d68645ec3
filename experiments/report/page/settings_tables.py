"""How a run was made: command, versions, seed, every setting."""

from collections.abc import Mapping, Sequence

from experiments.report.page.numbers import NOTHING
from experiments.report.page.run_source import ArmSource
from experiments.report.page.views import Column, Row, Table

ELSEWHERE = frozenset({"command", "folder", "controller", "scenario"})
"""Fields of a configuration that the page shows in another place."""


def settings_tables(arms: Sequence[ArmSource]) -> tuple[Table, ...]:
    """Return what was recorded beside the numbers: what robots share, what differs."""
    origins = {arm.name: _origin(arm) for arm in arms}
    settings = {arm.name: dict(_flat(arm.run.meta.config)) for arm in arms}
    tables = (
        _shared("Where it comes from", origins),
        _differing("Where the robots differ", origins, settings),
        _shared("Settings", settings),
    )
    return tuple(table for table in tables if table.rows)


def _origin(arm: ArmSource) -> dict[str, str]:
    meta = arm.run.meta
    return {
        "experiment": meta.experiment,
        "robot": meta.robot,
        "command": " ".join(meta.command) or NOTHING,
        "seed": str(meta.seed),
        "state": arm.run.state,
        "started (UTC)": meta.started_utc.removesuffix("+00:00").replace("T", " "),
        "rows": str(len(arm.frame)),
        "commit": meta.commit or "not known",
        **{_of_version(name): str(text) for name, text in meta.versions.items()},
    }


def _of_version(name: str) -> str:
    return name if name == "machine" else f"version of {name}"


def _differs(values: Mapping[str, Mapping[str, str]], key: str) -> bool:
    return len({row.get(key) for row in values.values()}) > 1


def _keys(values: Mapping[str, Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(key for row in values.values() for key in row))


def _shared(caption: str, values: Mapping[str, Mapping[str, str]]) -> Table:
    """A row a key in which all robots agree."""
    first = next(iter(values.values()), {})
    keys = [key for key in _keys(values) if not _differs(values, key)]
    return Table(
        caption=caption,
        columns=(
            Column(label="", is_number=False),
            Column(label="value", is_number=False),
        ),
        rows=tuple(Row(cells=(key, first[key])) for key in keys),
    )


def _differing(caption: str, *groups: Mapping[str, Mapping[str, str]]) -> Table:
    """A row a key in which they do not, a column a robot."""
    rows = [
        Row(cells=(key, *(row.get(key, NOTHING) for row in values.values())))
        for values in groups
        for key in _keys(values)
        if _differs(values, key)
    ]
    names = list(groups[0])
    return Table(
        caption=caption,
        columns=tuple(Column(label=label, is_number=False) for label in ("", *names)),
        rows=tuple(rows),
    )


def _flat(value: Mapping[str, object], prefix: str = "") -> Sequence[tuple[str, str]]:
    """Return dotted keys and texts; a mapping of numbers stays on one line."""
    lines: list[tuple[str, str]] = []
    for key, item in value.items():
        if not prefix and key in ELSEWHERE:
            continue
        if isinstance(item, Mapping) and not _is_list_of_numbers(item):
            lines += _flat(item, f"{prefix}{key}.")
        else:
            lines.append((f"{prefix}{key}", _text(item)))
    return lines


def _is_list_of_numbers(value: Mapping[str, object]) -> bool:
    """Whether a mapping is by joint and the like, not a group of settings."""
    return all(
        isinstance(item, int | float)
        and not isinstance(item, bool)
        and key[:1].isupper()
        for key, item in value.items()
    )


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return str(value)
