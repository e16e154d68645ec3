"""Each number on the command line has a range, and the refusal names it."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from nao_testbed.experiments.cli import app
from nao_testbed.experiments.common.ranges import RANGES, range_of
from tests.experiments.command.helpers import Run

ARGUMENTS = {
    "live": "",
    "run": "--robot simulator",
    "report": "run",
    "replay": "run",
    "sweep": "fifty_robots --dry-run",
    "posture-search": "Stand",
    "xray": "",
    "identify": "run --joint LKneePitch",
    "scenario run": "table_edge",
    "resources take": "Head",
    "resources revoke": "Head",
    "preset-search": "--out new.yaml",
}
"""What a command cannot do without."""


def numbers(group: Any = None, before: str = "") -> Iterator[tuple[str, str, type]]:
    """Yield command, option and kind of all numbers."""
    group = get_command(app) if group is None else group
    for name, command in group.commands.items():
        path = f"{before}{name}"
        if hasattr(command, "commands"):
            yield from numbers(command, f"{path} ")
            continue
        for param in command.params:
            if param.type_descriptor.annotation in {int, float}:
                yield path, param.opts[0], param.type_descriptor.annotation


ALL = list(numbers())


def test_each_number_has_a_range_and_each_range_its_number() -> None:
    used = set()
    for command, option, kind in ALL:
        accepted = range_of(command, option)
        assert accepted.__origin__ is kind, (command, option)
        used.add(id(accepted))
    assert {id(accepted) for accepted in RANGES.values()} <= used


@pytest.mark.parametrize(("command", "option", "kind"), ALL)
def test_a_number_out_of_its_range_is_refused_at_once(
    here: Any, nao_testbed: Run, command: str, option: str, kind: type
) -> None:
    values = ("99999999999999999999", "-1") if kind is int else ("1e20", "1e308", "nan")
    for value in values:
        ran = nao_testbed(f"{command} {ARGUMENTS.get(command, '')} {option}={value}")
        assert ran.status == 2, ran.err
        assert f"{option} = " in ran.err
        assert "; give " in ran.err
        assert ran.out == ""
    assert not list(here.iterdir())
