"""Programs of `benchmarks.naoqi_programs`: the table, and two of them run."""

import ast
import textwrap

import pytest

pytest.importorskip("qi", reason="the extra naoqi is not installed")
from benchmarks.naoqi_programs import (
    END,
    PROGRAMS,
    REFUSED,
    START,
    run_program,
    serving,
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_expects_or_is_refused(name: str) -> None:
    tree = ast.parse(START + textwrap.dedent(PROGRAMS[name]) + END)
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert ({"seen", "expected"} <= stored) != (name in REFUSED)


@pytest.mark.slow
def test_a_right_and_a_refused_program() -> None:
    with serving(4.0) as url:
        assert run_program("degrees to radians", url) == ("right", "")
        result, said = run_program("a preference is read", url)
        assert result == "refused"
        assert "a stored preference" in said
