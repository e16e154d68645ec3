"""Each number on the command line has a range, and the error names it."""

from collections.abc import Iterator
from typing import Any

import pytest

from nao_testbed.experiments.common.ranges import RANGES
from studies.commands import RANGES as RANGES_OF_STUDIES
from tests.experiments.command.helpers import Run, all_commands

ARGUMENTS = {
    "live": "",
    "run": "--address simulator",
    "naoqi run": "--address simulator",
    "report": "run",
    "replay": "run",
    "sweep": "fifty_robots --dry-run",
    "posture-search": "Stand",
    "xray": "",
    "identify": "run --joint LKneePitch",
    "scenario run": "table_edge",
    "resources take": "Head",
    "resources revoke": "Head",
    "study preset-search": "--out new.yaml",
    "study example-log": "--out new.csv",
    "study example-logs": "run --out new",
}
"""Required options of commands."""


def numbers() -> Iterator[tuple[str, str, type]]:
    """Yield command, option and kind of all numbers."""
    for words, command in all_commands():
        for param in command.params:
            if param.type_descriptor.annotation in {int, float}:
                yield words, param.opts[0], param.type_descriptor.annotation


ALL = list(numbers())


def test_each_number_has_a_range_and_vice_versa() -> None:
    used, known = set(), dict(all_commands())
    for words, option, kind in ALL:
        accepted = known[words].range_of(words.removeprefix("study "), option)
        assert accepted.__origin__ is kind, (words, option)
        used.add(id(accepted))
    ranges = (*RANGES.values(), *RANGES_OF_STUDIES.values())
    assert {id(accepted) for accepted in ranges} <= used


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
