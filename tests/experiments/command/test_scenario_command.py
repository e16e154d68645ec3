"""`nao-testbed scenario`: output and exit status."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nao_testbed.controllers.arbitration.policies import policy_classes
from nao_testbed.controllers.schemas.registry import schema_names
from nao_testbed.experiments.scenarios.playing.result import ScenarioResult, junit_xml
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS, scenario_about
from nao_testbed.experiments.scenarios.run_command import RunArguments
from nao_testbed.experiments.scenarios.vocabulary.conditions import CONDITIONS
from nao_testbed.models import load_robot
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.command.helpers import Run

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
SHORT = """
name: short
about: One behaviour has the head for a moment.
duration_s: 0.3
behaviours: [{name: a, schema: example, needs: [HeadYaw]}]
events: [{at_s: 0.2, stop: a}]
expect:
  - {at_s: 0.1, holds: {HeadYaw: a}}
  - {never: {fallen: true}}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "short.yaml"
    path.write_text(text, "utf-8")
    return path


def test_check_counts_the_items_of_a_valid_file(here: Path, nao_testbed: Run) -> None:
    write(here, SHORT)
    ran = nao_testbed("scenario check short.yaml")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "ok: 1 behaviour, 1 event, 2 expectations\n"


def test_check_reports_all_errors_with_lines(here: Path, nao_testbed: Run) -> None:
    write(here, SHORT.replace("HeadYaw", "HeadYw").replace("stop: a", "stop: b"))
    ran = nao_testbed("scenario check short.yaml")
    assert (ran.status, ran.out) == (2, "")
    places = [line.split(": ")[:2] for line in ran.err.splitlines()]
    assert places == [["error", f"short.yaml:{line}"] for line in (5, 6, 8)]


def test_check_continues_after_an_error(here: Path, nao_testbed: Run) -> None:
    write(here, SHORT)
    ran = nao_testbed("scenario check none.yaml short.yaml")
    assert ran.status == 2
    assert ran.err.startswith("error: there is no file none.yaml")
    assert ran.out.startswith("short.yaml: ok:")


def test_check_writes_json_of_each_file(here: Path, nao_testbed: Run) -> None:
    write(here, SHORT)
    (here / "wrong.yaml").write_text(SHORT.replace("HeadYaw", "HeadYw"), "utf-8")
    ran = nao_testbed("scenario check short.yaml wrong.yaml none.yaml --json -")
    assert ran.status == 2
    right, wrong, none = json.loads(ran.out)["files"]
    counts = {"behaviours": 1, "events": 1, "expectations": 2}
    assert right == {"file": "short.yaml", "ok": True, **counts, "errors": []}
    assert not wrong["ok"]
    assert [(e["file"], e["line"]) for e in wrong["errors"]] == [
        ("wrong.yaml", 5),
        ("wrong.yaml", 8),
    ]
    for error in wrong["errors"]:
        assert error["message"].count("HeadYw") == 1
        assert "wrong.yaml:" not in error["message"]
    (error,) = none["errors"]
    assert (none["ok"], error["line"]) == (False, None)
    assert "none.yaml" in error["message"]
    nao_testbed("scenario check short.yaml --json told.json")
    assert json.loads((here / "told.json").read_text("utf-8"))["files"] == [right]


def test_schemas_are_listed_with_their_parameters(nao_testbed: Run) -> None:
    ran = nao_testbed("scenario schemas")
    assert (ran.status, ran.err) == (0, "")
    for name in schema_names():
        assert any(line.startswith(f"{name} ") for line in ran.out.splitlines())
    assert "arbitration: keep_winner" in ran.out
    ran = nao_testbed("scenario schemas --json -")
    assert (ran.status, ran.err) == (0, "")
    told = {one["name"]: one for one in json.loads(ran.out)["schemas"]}
    assert tuple(told) == tuple(schema_names())
    assert told["move"]["kind"] == "actuation"
    assert {one["kind"] for one in told.values()} == {"actuation", "perceptive"}
    assert "motion" in [one["name"] for one in told["move"]["parameters"]]


def test_list_names_scenarios(nao_testbed: Run) -> None:
    ran = nao_testbed("scenario list")
    assert (ran.status, ran.err) == (0, "")
    rows = ran.out.splitlines()[2:]
    names = [line.split()[0] for line in rows if not line.startswith(" ")]
    assert tuple(names) == SCENARIOS.names()
    assert tuple(json.loads(nao_testbed("scenario list --json -").out)) == (
        SCENARIOS.names()
    )
    for name in SCENARIOS.names():
        assert scenario_about(name).split()[0] in ran.out


@pytest.mark.parametrize("name", SCENARIOS.names())
def test_every_shipped_scenario_is_valid(name: str, nao_testbed: Run) -> None:
    ran = nao_testbed(f"scenario check {name}")
    assert ran.status == 0, ran.err


def test_schema_is_json_on_stdout(nao_testbed: Run) -> None:
    ran = nao_testbed("scenario schema")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["title"] == "nao-testbed scenario"


@pytest.mark.scenario
def test_run_gives_a_verdict_a_figure_and_a_folder(
    here: Path, nao_testbed: Run
) -> None:
    write(here, SHORT)
    ran = nao_testbed("scenario run short.yaml --out runs/one --json -")
    assert ran.status == 0, ran.err
    result = json.loads(ran.out)
    assert result["all_hold"] is True
    assert all(verdict["holds"] for verdict in result["verdicts"])
    assert [v["line"] for v in result["verdicts"][:2]] == [8, 9]
    assert "at_s: 0.1, holds: {HeadYaw: a}" in ran.err
    folder = here / "runs" / "one"
    assert (folder / "timeline.png").stat().st_size > 10_000
    assert (folder / "timeline.svg").exists()
    assert json.loads((folder / "scenario.json").read_text("utf-8")) == result
    assert read_run(folder).state == "done"


@pytest.mark.scenario
def test_a_failed_expectation_sets_the_exit_status(
    here: Path, nao_testbed: Run
) -> None:
    write(here, SHORT.replace("at_s: 0.1, holds", "at_s: 0.25, holds"))
    ran = nao_testbed("scenario run short.yaml")
    assert ran.status == 1
    assert "BROKEN" in ran.out
    assert (here / "runs" / "short" / "timeline.png").exists()


@pytest.mark.slow
@pytest.mark.scenario
def test_several_files_give_json_and_junit(here: Path, nao_testbed: Run) -> None:
    (here / "good.yaml").write_text(SHORT, "utf-8")
    (here / "bad.yaml").write_text(SHORT.replace("at_s: 0.1,", "at_s: 0.25,"), "utf-8")
    ran = nao_testbed(
        "scenario run good.yaml bad.yaml --check-invariants --out runs/all --json - "
        "--junit all.xml"
    )
    assert ran.status == 1, ran.err
    told = json.loads(ran.out)
    assert told["all_hold"] is False
    assert [run["all_hold"] for run in told["runs"]] == [True, False]
    folders = [here / "runs" / "all" / name for name in ("good", "bad")]
    assert [
        json.loads((f / "scenario.json").read_text("utf-8")) for f in folders
    ] == told["runs"]
    assert ran.err.count("1 of 2 expectations hold") == 2  # own line and table
    root = ElementTree.parse(here / "all.xml").getroot()
    counts = {key: root.get(key) for key in ("tests", "failures", "errors")}
    assert counts == {"tests": "8", "failures": "1", "errors": "0"}
    good, bad = root
    assert (good.get("failures"), bad.get("failures")) == ("0", "1")
    (failure,) = root.iter("failure")
    assert failure.get("message") == (
        "bad.yaml:8: not as expected: at_s: 0.25, holds: {HeadYaw: a}. Seen: HeadYaw "
        "is held by no owner."
    )
    names = [case.get("name") for case in bad.iter("testcase")]
    assert names[0] == "line 8: at_s: 0.25, holds: {HeadYaw: a}"
    assert names[-1] == "the run completes"


@pytest.mark.slow(covers=True)
def test_one_run_for_each_named_controller(
    here: Path, nao_testbed: Run, undrawn: None
) -> None:
    (here / "a.yaml").write_text(SHORT, "utf-8")
    ran = nao_testbed(
        "scenario run a.yaml --controllers smart,constant:0.9 --json r.json "
        "--junit j.xml"
    )
    assert ran.status == 0, ran.err
    runs = json.loads((here / "r.json").read_text("utf-8"))["runs"]
    assert [run["controller"] for run in runs] == ["smart", "constant:0.9"]
    assert [run["folder"] for run in runs] == ["runs/a/smart", "runs/a/constant-0.9"]
    config = read_run(here / "runs/a/constant-0.9").meta.config
    assert config["controller"] == "constant:0.9"
    suites = ElementTree.parse(here / "j.xml").getroot().findall("testsuite")
    assert [s.get("name") for s in suites] == ["short, smart", "short, constant:0.9"]
    table = ran.out[ran.out.index("Scenarios") :]
    assert "constant:0.9" in table
    one = nao_testbed("scenario run a.yaml --controllers smart --out one")
    assert one.status == 0
    assert (here / "one/scenario.json").exists()


@pytest.mark.parametrize(
    ("names", "said"), [("smrt", "Did you mean 'smart'"), ("smart,smart", "once")]
)
def test_an_unknown_controller_starts_no_run(
    here: Path, nao_testbed: Run, names: str, said: str
) -> None:
    (here / "a.yaml").write_text(SHORT, "utf-8")
    ran = nao_testbed(f"scenario run a.yaml --controllers {names}")
    assert ran.status == 2
    assert said in ran.err
    assert not (here / "runs").exists()


def test_junit_lists_failures_and_skipped_checks() -> None:
    result = ScenarioResult(
        name="odd \x1b[31m \ud800 & <name>",
        file="odd.yaml",
        seed=0,
        controller="fixed",
        verdicts=(),
        failures=(),
        fell=False,
        failure="it diverged",
        sim_s=0.1,
        wall_s=0.2,
        trace_hash="",
        whole_trace_hash=None,
        n_events=0,
        max_degc={},
    )
    text = junit_xml([result], [Path("late.yaml")])
    odd, late = ElementTree.fromstring(text)
    assert odd.get("name") == "odd \ufffd[31m \ufffd & <name>"
    assert [e.get("message") for e in odd.iter("error")] == ["it diverged"]
    assert (late.get("tests"), late.get("skipped")) == ("1", "1")


@pytest.mark.slow(covers=True)
@pytest.mark.scenario
def test_run_takes_another_seed(here: Path, nao_testbed: Run) -> None:
    write(here, SHORT)
    ran = nao_testbed("scenario run short.yaml --seed 7 --no-proof --json -")
    result = json.loads(ran.out)
    assert result["seed"] == 7
    assert result["folder"] == "runs/short"
    again = nao_testbed("scenario run short.yaml --check-invariants --json -")
    assert "runs/short exists; this run goes to runs/short-2." in again.err
    assert len(result["verdicts"]) == 2  # only those of the file
    *_, invariants = json.loads(again.out)["verdicts"]
    assert invariants["expectation"] == "invariants of the trace"
    assert invariants["holds"]


def test_invariants_are_checked_when_asked(
    nao_testbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[RunArguments] = []

    def run(arguments: RunArguments) -> int:
        asked.append(arguments)
        return 0

    command = "nao_testbed.experiments.scenarios.run_command.run_scenario_command"
    monkeypatch.setattr(command, run)
    for options in ("", "--check-invariants", "--no-proof --check-invariants"):
        assert nao_testbed(f"scenario run wave {options}").status == 0
    assert [one.checks for one in asked] == [False, True, True]
    assert [one.proves for one in asked] == [True, True, True]  # needs the whole trace


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("scenario run none", "Scenario 'none' is not in"),
        ("scenario run short.yaml", "short.yaml:5: Schema 'exmple'"),
        ("scenario run right.yaml --json none/x.json", "--json none/x.json"),
        ("scenario run right.yaml --junit none/x.xml", "--junit none/x.xml"),
        ("scenario run right.yaml short.yaml", "short.yaml:5: Schema 'exmple'"),
        ("scenario run right.yaml --gui", "--gui needs a display"),
        ("scenario run right.yaml --out right.yaml", "is not a folder"),
        ("scenario run right.yaml --seed -1", "--seed"),
        ("scenario run .", ". is a folder"),
        ("scenario run far/away.yaml", "there is no file far/away.yaml"),
    ],
)
def test_bad_input_starts_no_run(
    here: Path, nao_testbed: Run, line: str, problem: str
) -> None:
    write(here, SHORT.replace("schema: example", "schema: exmple"))
    (here / "right.yaml").write_text(SHORT, "utf-8")
    ran = nao_testbed(line)
    assert ran.status == 2
    assert problem in ran.err
    assert not (here / "runs").exists()


def test_words_lists_all_names_for_scenarios(here: Path, nao_testbed: Run) -> None:
    ran = nao_testbed("scenario words --json words.json")
    assert (ran.status, ran.err) == (0, "")
    words = json.loads((here / "words.json").read_text("utf-8"))
    library = load_robot().library
    names = {kind: [one["name"] for one in words[kind]] for kind in words}
    assert names["motions"] == list(library.motions)
    assert names["lights"] == list(library.lights)
    assert names["sounds"] == list(library.sounds)
    assert names["commands"] == list(library.orders)
    assert names["postures"] == list(load_robot().postures)
    assert names["schemas"] == list(schema_names())
    assert names["policies"] == list(policy_classes())
    assert names["conditions"] == list(CONDITIONS)
    shown = " ".join(ran.out.split())
    assert "to Stand (20), light eyes green (10), sound I stand up (70)" in shown
    for kind, known in names.items():
        assert kind.capitalize() in shown
        for name in known:
            assert name in shown, name
    for schema in words["schemas"]:
        assert schema["about"]
        for one in schema["parameters"]:
            assert one["about"], f"{schema['name']}: {one['name']}"
            assert f"{one['name']}:" in shown
    for kind in ("policies", "conditions", "events", "expectations"):
        assert all(one["about"].endswith(".") for one in words[kind])
    lasting = {one["name"] for one in words["conditions"] if one["lasts"]}
    assert {"state", "fallen", "output_above"} < lasting
    assert not {"said", "motion_started", "event"} & lasting


def test_words_takes_a_robot_and_kinds(nao_testbed: Run) -> None:
    ran = nao_testbed(f"scenario words motions postures --robot {TWO_LEG}")
    assert ran.status == 0, ran.err
    assert "Policies" not in ran.out
    assert "nod" not in ran.out
    assert "Stand" in ran.out
    wrong = nao_testbed("scenario words motion")
    assert wrong.status == 2
    assert "Did you mean 'motions'?" in wrong.err
