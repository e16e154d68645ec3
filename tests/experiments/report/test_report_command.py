"""The command `nao-testbed report`: files, errors and exit status."""

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nao_testbed.experiments.cli import main
from nao_testbed.experiments.common.drawing.style import without_home
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.report.write import ReportCfg, write_report
from nao_testbed.models import BadInput

Copy = Callable[[str], Path]
Run = Callable[[str], tuple[int, str, str]]

BOB, CLEO = Path(os.sep, "home", "bob"), Path(os.sep, "Users", "cleo.b")
KERNEL = str(Path(os.sep, "proc"))
"""A folder that is not writable."""


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip figures, which the page tests draw once."""
    monkeypatch.setattr(
        "nao_testbed.experiments.report.write.heat_figures", lambda *_: []
    )


@pytest.fixture
def report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run the command in an empty folder; return status, stdout, stderr."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(
            sys, "argv", ["nao-testbed", "report", *shlex.split(line), "--no-replay"]
        )
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return end.value.code, said.out, said.err

    return run


def test_page_is_written_to_the_run_folder(report: Run, copy_of: Copy) -> None:
    folder = copy_of("run") / "smart"
    status, out, err = report(str(folder))
    assert (status, out, err) == (0, f"{folder / 'report.html'}\n", "")
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>One robot of a heat run: smart</h1>" in text
    assert "data-replay=" not in text


def test_json_output_lists_the_contents_of_the_page(report: Run, copy_of: Copy) -> None:
    folder = copy_of("run")
    status, out, err = report(f"{folder} --json -")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["page"] == str(folder / "report.html")
    (run,) = told["shows"]
    assert (run["name"], run["title"]) == ("run", "Heat experiment")
    assert run["warnings"] == []
    assert not run["has_replay"]
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert run["tables"]
    for caption in run["tables"]:
        assert caption in text


def test_folder_with_different_experiments_shows_each(
    report: Run, copy_of: Copy
) -> None:
    """Two heat runs and a scenario run in one folder keep their kinds."""
    above = copy_of("above")
    (above / "heat.json").unlink()
    for path in (above / "fixed").iterdir():
        path.unlink()
    (above / "fixed").rmdir()
    copy_of("first").rename(above / "first")
    copy_of("second").rename(above / "second")
    (above / "second" / "heat.json").unlink()
    (above / "smart").rename(above / "dance")
    path = above / "dance" / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**meta, "experiment": "scenario"}), "utf-8")
    status, out, err = report(str(above))
    assert (status, out, err) == (0, f"{above / 'report.html'}\n", "")
    text = (above / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<h2>([^<]*)</h2>", text) == [
        "dance: Scenario",
        "first: Heat experiment",
        "second: Heat experiment",
    ]
    assert "One robot of a heat run" not in text


def test_several_runs_make_one_page(report: Run, copy_of: Copy) -> None:
    a, b = copy_of("a"), copy_of("b")
    status, out, _ = report(f"{a / 'fixed'} {b} --out page.html")
    assert (status, out) == (0, "page.html\n")
    text = Path("page.html").read_text(encoding="utf-8")
    assert "<h1>2 runs: fixed, b</h1>" in text
    assert "All runs side by side" in text
    assert (
        text.index('href="#run2"') < text.index('id="run1"') < text.index('id="run2"')
    )


@pytest.mark.slow
def test_page_of_a_killed_run_starts_with_a_warning(report: Run, killed: Path) -> None:
    assert report(f"{killed} --out page.html")[0] == 0
    text = Path("page.html").read_text(encoding="utf-8")
    told = text.index("There is no readable heat.json")
    assert told < text.index("the run was killed") < text.index("Results")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nowhere", "nowhere does not exist"),
        (".", ". is empty"),
        ("{run} {run}", "two runs are called 'run'"),
        ("{run} {run}/smart", "give it with --out"),
        ("{run} --out .", "--out . is a folder"),
        ("{run} --out gone/page.html", "--out gone/page.html cannot be written"),
        (f"{{run}} --out {KERNEL}/page.html", f"--out {KERNEL}/page.html cannot be"),
    ],
)
def test_bad_input_is_reported_in_one_message(
    report: Run, copy_of: Copy, line: str, says: str
) -> None:
    run = copy_of("run")
    if says.startswith("two"):
        line += " --out page.html"
    status, out, err = report(line.format(run=run))
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert says in err
    assert "Traceback" not in err
    assert not list(Path.cwd().iterdir()), "files are left behind"


def test_runs_with_the_same_name_are_refused(copy_of: Copy) -> None:
    a, b = copy_of("a"), copy_of("b")
    with pytest.raises(BadInput, match="two runs are called 'smart'"):
        write_report(ReportCfg(runs=(a / "smart", b / "smart"), out=a / "page.html"))


def test_existing_page_is_replaced(copy_of: Copy) -> None:
    folder = copy_of("run") / "smart"
    cfg = ReportCfg(runs=(folder,), with_replay=False)
    path = write_report(cfg)
    path.write_text(path.read_text(encoding="utf-8") + "old", encoding="utf-8")
    assert not write_report(cfg).read_text(encoding="utf-8").endswith("old")


def test_page_of_rows_without_angles_has_no_replay(copy_of: Copy) -> None:
    """Answers of a controller replay are such rows: they hold only the limits."""
    import pandas as pd

    folder = copy_of("run") / "smart"
    for path in folder.glob("part-*.parquet"):
        frame = pd.read_parquet(path)
        frame[[c for c in frame.columns if not c.startswith("q.")]].to_parquet(path)
    text = write_report(ReportCfg(runs=(folder,))).read_text(encoding="utf-8")
    assert "There is no replay: its rows have no column q.HeadYaw." in text


def test_missing_robot_is_reported(copy_of: Copy) -> None:
    folder = copy_of("run") / "smart"
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    meta["robot_data"]["folder"] = str(folder / "other")
    (folder / "meta.json").write_text(json.dumps(meta), "utf-8")
    text = write_report(ReportCfg(runs=(folder,))).read_text(encoding="utf-8")
    assert "its robot cannot be loaded" in text
    assert "There is no replay: no robot with rows." in text


@pytest.mark.parametrize("extra", ["jinja2", "viser"])
def test_missing_library_is_named(
    copy_of: Copy, monkeypatch: pytest.MonkeyPatch, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, extra, None)
    folder = copy_of("run") / "smart"
    cfg = ReportCfg(runs=(folder,), with_replay=extra == "viser")
    with pytest.raises(BadInput, match=r"pip install '\.\[report\]'"):
        write_report(cfg)
    assert not (folder / "report.html").exists()


def test_scenario_page_shows_its_verdicts(tmp_path: Path) -> None:
    from nao_testbed.experiments.common.options import json_text
    from nao_testbed.experiments.scenarios.playing.runner import run_scenario
    from nao_testbed.experiments.scenarios.reading.load import load_scenario

    path = tmp_path / "short.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    folder = tmp_path / "scenario"
    folder.mkdir()
    run = run_scenario(load_scenario(path), folder)
    (folder / "scenario.json").write_text(json_text(run.result.as_json()), "utf-8")
    cfg = ReportCfg(runs=(folder,), with_replay=False)
    text = write_report(cfg).read_text(encoding="utf-8")
    assert "<h1>Scenario short: scenario</h1>" in text
    assert '<td class="text">holds</td>' in text
    (lead,) = re.findall('<p class="lead">(.*)</p>', text)
    assert lead.startswith("Nobody wants anything. nao under ")
    assert lead.endswith(f": {run.result.verdict_summary}.")  # as in the terminal
    assert run.result.verdict_summary == "1 of 1 expectations hold, and the invariants"
    assert f'<td class="text">{run.result.verdict_summary}</td>' in text
    assert "Scenario file" in text
    (folder / "scenario.json").unlink()
    text = write_report(cfg).read_text(encoding="utf-8")
    assert "scenario.json is missing." in text


def test_stopped_run_keeps_its_preset(report: Run, copy_of: Copy) -> None:
    folder = copy_of("run")
    (folder / "heat.json").unlink()
    for meta in folder.glob("*/meta.json"):
        data = json.loads(meta.read_text(encoding="utf-8"))
        data["config"]["preset"] = "document"
        meta.write_text(json.dumps(data), encoding="utf-8")
    status, _, err = report(str(folder))
    assert status == 0, err
    text = (folder / "report.html").read_text(encoding="utf-8")
    (lead,) = re.findall('<p class="lead">(.*)</p>', text)
    assert ", preset document, seed " in lead


def test_preset_of_a_heat_run_is_recorded() -> None:
    (trial,) = plan_trials(HeatCfg(controllers=("fixed",), preset="document"))
    assert trial.preset == "document"


def test_page_contains_no_home_folders(
    report: Run, copy_of: Copy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither the current user's nor that of the user who recorded the run."""
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    folder = copy_of("run")
    places = [str(tmp_path / "ann"), f"{BOB}", f"{CLEO}"]
    for meta, place in zip(sorted(folder.glob("*/meta.json")), places, strict=False):
        data = json.loads(meta.read_text(encoding="utf-8"))
        data["command"] = [f"{place}/.venv/bin/nao-testbed", "heat", f"--out={place}/x"]
        data["config"]["robot_folder"] = f"{place}/robots/mine"
        meta.write_text(json.dumps(data), encoding="utf-8")
    status, _, err = report(str(folder))
    assert status == 0, err
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "~/.venv/bin/nao-testbed" in text
    assert not [place for place in places if place in text]


def test_only_complete_home_paths_are_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = str(Path(os.sep, "srv", "ann"))
    monkeypatch.setenv("HOME", own)
    said = f"{own}/x:{own}a {BOB}-2 ({CLEO}) '{own}' data{BOB}"
    assert without_home(said) == f"~/x:{own}a ~ (~) '~' data{BOB}"
    monkeypatch.setenv("HOME", "/")
    assert without_home(f"{own} and/or") == f"{own} and/or"


SCENARIO = """\
name: short
about: Nobody wants anything.
duration_s: 0.5
behaviours: []
expect:
  - {never: {fallen: true}}
"""


@pytest.mark.parametrize("between", ["\\", "\\\\", "/"])
def test_windows_home_paths_are_removed(between: str) -> None:
    said = between.join(["C:", "Users", "Bob", "runs"])
    assert without_home(f'"{said}"') == f'"~{between}runs"'
    assert without_home(f"{said}:{said}") == f"~{between}runs:~{between}runs"
