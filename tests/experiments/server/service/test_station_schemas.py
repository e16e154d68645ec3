"""Schemas and motions sent by a station, checked and returned by the server."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.schemas.activation import make_parameters
from nao_testbed.controllers.schemas.library.move import Move
from nao_testbed.experiments.cli import main
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.server.link import ServerLink
from nao_testbed.experiments.server.messages import InstalledData
from nao_testbed.experiments.server.server import ReservationServer, run_server
from nao_testbed.experiments.server.service.address import ServerCfg
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput, Robot, load_robot

SENT = """\
motions:
  small nod: {angles_deg: {HeadPitch: [[0.5, 10.0], [1.0, 0.0]]}}
behaviours:
  - {name: nod, schema: move, with: {motion: small nod}, priority: 2}
  - {name: talk, schema: say, with: {text: Hello}}
  - {name: watch, schema: fall watch}
  - {name: keep still, needs: [Left leg]}
"""
SCENARIO = """\
name: as it was sent
about: What a station sent.
duration_s: 1.0
"""


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot()


@pytest.fixture
def link(robot: Robot) -> Iterator[ServerLink]:
    with (
        SharedLedger(Ledger(ResourceTree(robot.resources))) as front,
        ReservationServer(front, ServerCfg(port=0), robot=robot) as server,
        ServerLink(server.url) as link,
    ):
        yield link


@pytest.mark.requirement("RM-64", "RM-8")
def test_definition_of_a_behaviour_is_returned_unchanged(
    link: ServerLink, robot: Robot, tmp_path: Path
) -> None:
    """Includes the needs of its schema, and is valid in a scenario file."""
    link.install(SENT, "sent.yaml")
    nod = link.definition("nod")
    assert nod.behaviour == {
        "name": "nod",
        "schema": "move",
        "with": {"motion": "small nod"},
        "needs": ["HeadPitch"],
        "optional": [],
        "rates": {},
        "priority": 2,
    }
    assert list(nod.library) == ["motions"]
    path = tmp_path / "nod.yaml"
    sections = nod.as_scenario().items()
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in sections)
    path.write_text(SCENARIO + lines, "utf-8")
    plan = load_scenario(path)
    (behaviour,) = plan.behaviours
    made = make_parameters(Move.info, behaviour.parameters)
    assert behaviour.needs == tuple(Move.needs_of(made, plan.robot)) == ("HeadPitch",)
    assert link.definition("talk").behaviour["needs"] == ["TTS"]
    assert link.definition("watch").behaviour["needs"] == []
    still = link.definition("keep still")
    assert (still.behaviour["needs"], still.library) == (["Left leg"], {})
    with pytest.raises(BadInput, match="Did you mean 'nod'"):
        link.definition("nodd")


@pytest.mark.requirement("RM-64")
def test_start_reserves_the_needs_of_the_schema(link: ServerLink) -> None:
    link.install(SENT, "sent.yaml")
    assert link.start("nod").has == ("HeadPitch",)
    assert link.start("keep still").runs
    link.install(SENT.replace("10.0", "9.0"), "sent.yaml")  # another motion
    runs = {one.name: one.runs for one in link.installed().behaviours}
    assert runs == {"nod": False, "talk": False, "watch": False, "keep still": True}


WRONG = {
    "schema: mov,": "w.yaml:4: Schema 'mov' is not in",
    "motion: smal nod}": "w.yaml:4: ",
    "moton: small nod}": "w.yaml:4: Parameter 'moton' is not in schema 'move'",
    "motion: [1]}": "w.yaml:4: parameter 'motion' of schema 'move' is",
    "motion: small nod}, needs: [Hed]": "w.yaml:4: Resource 'Hed' is not in",
    "motion: small nod}, rates: {Head: 3.0}": "w.yaml:4: ",
    "motion: small nod}, children: [{name: b}]": "compete for resources",
    "name: a/b": "w.yaml:4: name of a behaviour is 'a/b'",
    "HeadPitch: [[0.5, 100.0": "w.yaml:2: ",
    "HedPitch: [[0.5, 10.0": "w.yaml:2: ",
    "interpolation: bezier": "w.yaml:2: ",
    "overtake_s: '1.0'": "w.yaml:1: overtake_s is '1.0'",
}


@pytest.mark.requirement("RM-64", "RM-65")
def test_schema_or_motion_with_an_error_changes_nothing(link: ServerLink) -> None:
    nod = "{name: nod, schema: move, with: {motion: small nod}, priority: 2}"
    link.install(SENT, "sent.yaml")
    before = link.installed()
    for wrong, said in WRONG.items():
        key = wrong.partition(":")[0]
        line = {
            "schema": nod.replace("schema: move,", wrong),
            "name": nod.replace("name: nod", wrong),
        }.get(key, nod.replace("motion: small nod}", wrong))
        text = SENT.replace(nod, line)
        if "HeadPitch" in wrong or "HedPitch" in wrong:
            text = SENT.replace("HeadPitch: [[0.5, 10.0", wrong)
        elif key == "interpolation":
            text = SENT.replace("angles_deg", f"{wrong}, angles_deg")
        elif key == "overtake_s":
            text = f"{wrong}\n{SENT}"
        with pytest.raises(BadInput) as error:
            link.install(text, "w.yaml")
        assert said in str(error.value), (wrong, str(error.value))
        assert link.installed() == before
    assert link.definition("nod").library["motions"]


@pytest.mark.requirement("RM-64")
def test_schemas_are_checked_for_the_served_robot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`resources serve` passes its robot on; a body without legs can still nod."""
    installed: list[InstalledData] = []
    serve = ReservationServer.run

    def run(server: ReservationServer) -> None:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        try:
            with ServerLink(server.url) as link:
                installed.append(link.install(SENT, "sent.yaml"))
        finally:
            server.stop()
            thread.join()

    monkeypatch.setattr(ReservationServer, "run", run)
    run_server(
        ServerCfg(port=0),
        robot=None,
        body="T14",
        resources=None,
        objects=("ball",),
        preemption="off",
        state=tmp_path / "epoch",
    )
    assert [one.name for one in installed[0].behaviours][:2] == ["nod", "talk"]


def test_file_of_the_page_can_be_installed(link: ServerLink) -> None:
    page = (Path(__file__).parents[4] / "docs" / "guides" / "server.md").read_text(
        "utf-8"
    )
    files = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (text,) = [one for one in files if "owners:" in one]
    installed = link.install(text, "rules.yaml")
    assert [one.name for one in installed.behaviours] == ["greet", "nod"]
    assert link.start("greet").parts[0].has == ("RWristYaw",)


def test_command_shows_an_uploaded_behaviour(
    link: ServerLink,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    link.install(SENT, "sent.yaml")
    monkeypatch.setattr(
        sys, "argv", ["nao-testbed", "resources", "show", "nod", "--url", link.url]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    shown = json.loads(capsys.readouterr().out)
    assert shown == link.definition("nod").as_scenario()
