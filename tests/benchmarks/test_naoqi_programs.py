"""Programs of `benchmarks.naoqi_programs`: the table, and two of them run."""

import ast

import pytest

pytest.importorskip("qi", reason="the extra naoqi is not installed")
from benchmarks.naoqi_programs import (
    END,
    PROGRAMS,
    REFUSED,
    START,
    longer,
    run_program,
    serving,
    short,
)
from benchmarks.naoqi_programs.__main__ import main


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_expects_or_is_refused(name: str) -> None:
    tree = ast.parse(START + PROGRAMS[name] + END)
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert ({"seen", "expected"} <= stored) != (name in REFUSED)


def test_the_table_is_read_whole() -> None:
    n = short.PROGRAMS.count("## ") + longer.PROGRAMS.count("## ")
    assert len(PROGRAMS) == n == 72
    assert set(PROGRAMS) >= REFUSED


@pytest.mark.parametrize("speed", ["0", "-1", "nan"])
def test_a_speed_that_the_server_refuses_is_refused_at_once(
    speed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["naoqi_programs", "--speed", speed])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "give a finite number above 0 up to 100." in capsys.readouterr().err


@pytest.mark.slow
def test_a_right_and_a_refused_program() -> None:
    with serving(4.0) as url:
        assert run_program("degrees to radians", url) == ("right", "")
        result, said = run_program("a preference is read", url)
        assert result == "refused"
        assert "a stored preference" in said
