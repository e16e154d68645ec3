"""Commands on a terminal: long commands show progress at every width."""

import re
from pathlib import Path

import pytest

from studies.preset_search import PresetCandidate as PresetTrial
from tests.experiments.command.helpers import OnTerminal, Ran, Run, plain
from tests.experiments.sweep.files import SHORT

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
LOG = Path(__file__).parents[3] / "notebooks" / "data" / "knee_log.csv"
WALKER = f"--robot {TWO_LEG} --posture Stand"
SCENARIO = """
name: short
about: One behaviour has the head for a moment.
duration_s: 0.1
behaviours: [{name: a, schema: example, needs: [HeadYaw]}]
"""

at_every_width = pytest.mark.parametrize("columns", [60, 80, 160])


def shown(ran: Ran, pattern: str) -> list[str]:
    """Return all lines ever shown that match a pattern."""
    lines = re.split(r"[\r\n]+", plain(ran.out))
    return [line.rstrip() for line in lines if re.search(pattern, line)]


def fits(lines: list[str], columns: int) -> bool:
    """Return True if there are lines and none is wrapped."""
    return bool(lines) and max(map(len, lines)) <= columns


@at_every_width
@pytest.mark.parametrize("line", ["--help", "study --help", "naoqi --help"])
def test_help_fits_the_screen(on_terminal: OnTerminal, line: str, columns: int) -> None:
    ran = on_terminal(line, columns)
    assert ran.status == 0, ran.out
    assert fits(shown(ran, "."), columns), ran.out
    if line == "--help":
        assert shown(ran, r"^[A-Z]\w+:$") == [
            "Options:",
            "Run:",
            "Analyse:",
            "Serve:",
        ]


@at_every_width
def test_a_sweep_shows_progress(
    here: Path, on_terminal: OnTerminal, serial: None, columns: int
) -> None:
    name = "ankles of many robots that stand"
    (here / "short.yaml").write_text(
        SHORT.replace("name: short", f"name: {name}"), "utf-8"
    )
    ran = on_terminal("sweep short.yaml --jobs 1", columns)
    assert ran.status == 0, ran.out
    assert fits(shown(ran, "^ankles.* 0 of 6"), columns)
    assert fits(shown(ran, "^ankles.* 6 of 6 .*/min"), columns)


@at_every_width
@pytest.mark.usefixtures("undrawn")
def test_heat_shows_its_progress(on_terminal: OnTerminal, columns: int) -> None:
    ran = on_terminal(f"heat {WALKER} --minutes 0.01 --controllers fixed", columns)
    assert ran.status == 0, ran.out
    assert fits(shown(ran, "^ *fixed .*0 of 1 s"), columns)


@at_every_width
@pytest.mark.usefixtures("undrawn")
def test_a_scenario_shows_its_progress(
    here: Path, on_terminal: OnTerminal, columns: int
) -> None:
    (here / "short.yaml").write_text(SCENARIO, "utf-8")
    ran = on_terminal("scenario run short.yaml", columns)
    assert ran.status == 0, ran.out
    assert fits(shown(ran, "^ *short .*0 of 0 s"), columns)


@at_every_width
@pytest.mark.usefixtures("undrawn")
def test_a_replay_shows_its_progress(
    on_terminal: OnTerminal, run_here: Path, columns: int
) -> None:
    ran = on_terminal("replay run --controller smart", columns)
    assert ran.status == 0, ran.out
    assert fits(shown(ran, "^ *smart .*%"), columns)


@pytest.mark.slow(covers=True)
@pytest.mark.usefixtures("undrawn")
def test_a_report_an_export_and_a_fit_show_their_progress(
    here: Path,
    on_terminal: OnTerminal,
    run_here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "nao_testbed.experiments.report.write.heat_figures", lambda *_: []
    )
    monkeypatch.setattr("nao_testbed.experiments.report.export.ROWS_AT_ONCE", 20)
    (here / "knee.csv").write_text(LOG.read_text(encoding="utf-8"), "utf-8")
    said = {
        "report run --no-replay": (
            "^ *reading .*0 of [?]",
            "^ *page .*1 of 1",
        ),
        "export run --to csv": ("^ *to csv .*0 of 1 s",),
        "identify knee.csv": ("^ *reading .*0 of [?]", "^ *fitting .*25 of 25"),
    }
    for columns in (60, 80, 160):
        for line, patterns in said.items():
            ran = on_terminal(line, columns)
            assert ran.status == 0, ran.out
            for pattern in patterns:
                assert fits(shown(ran, pattern), columns), (line, pattern, ran.out)


def test_a_pipe_sees_no_progress(here: Path, nao_testbed: Run) -> None:
    (here / "knee.csv").write_text(LOG.read_text(encoding="utf-8"), "utf-8")
    ran = nao_testbed("identify knee.csv")
    assert ran.status == 0
    assert "fitting" not in ran.out + ran.err


@at_every_width
def test_a_posture_search_shows_that_it_runs(
    on_terminal: OnTerminal, columns: int
) -> None:
    ran = on_terminal(f"posture-search Stand --robot {TWO_LEG} --starts 1", columns)
    assert ran.status == 0, ran.out
    assert fits(shown(ran, "searching"), columns)


@at_every_width
def test_a_preset_search_shows_its_cost(
    on_terminal: OnTerminal, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    def found(_: object, __: int, ___: int, on_trials: object) -> PresetTrial:
        assert callable(on_trials)
        on_trials(80, 12.5)
        raise KeyboardInterrupt

    monkeypatch.setattr("studies.preset_search.find_preset", found)
    ran = on_terminal("study preset-search --out new.yaml", columns)
    assert fits(shown(ran, r"^ *cost 12\.50 .* 80 of 1160"), columns), ran.out
