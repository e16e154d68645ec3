"""A station configures a server remotely: whole files, no code, real HTTP."""

import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from nao_testbed.controllers.arbitration.events import (
    Event,
    Frozen,
    Reconfigured,
    Revoked,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import (
    LossCause,
    NoticeKind,
    OutcomeKind,
    Refusal,
    Token,
)
from nao_testbed.experiments.cli import main
from nao_testbed.experiments.server.client import Client
from nao_testbed.experiments.server.link import Refused, ServerLink
from nao_testbed.experiments.server.messages import NoticeData
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.service.station import Station
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput
from nao_testbed.testing import check_trace
from tests.experiments.command.helpers import Ran
from tests.experiments.server.helpers import eventually, small_tree

MakeServer = Callable[..., ReservationServer]
RULES = """\
retry_s: 0.25
resources:
  - {name: lamp, parent: root}
owners:
  - {name: visitor, priority: 1, max_priority: 3, policy: stop, timeout_s: 0.0}
behaviours:
  - name: look
    needs: [Head]
    policy: {name: callback, limit_s: 3600.0}
  - name: juggle
    optional: [lamp]
    children:
      - {name: one hand, needs: [ball]}
      - {name: nod, needs: [HeadYaw]}
"""


@pytest.fixture
def link(server: ReservationServer) -> Iterator[ServerLink]:
    with ServerLink(server.url) as link:
        yield link


@pytest.fixture
def events(front: SharedLedger) -> list[Event]:
    events: list[Event] = []
    with front.step() as (ledger, _):
        ledger.listeners.append(events.append)
    return events


def holders(link: ServerLink, name: str) -> list[str]:
    (row,) = [row for row in link.snapshot().resources if row.name == name]
    return [holding.owner for holding in row.holders]


def holders_by_resource(link: ServerLink) -> dict[str, list[str]]:
    rows = link.snapshot().resources
    return {row.name: [holding.owner for holding in row.holders] for row in rows}


@pytest.mark.requirement("RM-64", "RM-8", "RM-59")
def test_uploaded_behaviours_run_without_the_station(
    server: ReservationServer, link: ServerLink, front: SharedLedger
) -> None:
    installed = link.install(RULES, "rules.yaml")
    assert installed == link.installed()
    assert installed.owners == ("visitor",)
    assert [one.name for one in installed.behaviours] == ["look", "juggle"]
    with front.step() as (ledger, _):
        assert ledger.cfg.retry_ticks == 25
        assert "lamp" in ledger.tree.names
    link.close()  # the following calls need no station
    with ServerLink(server.url) as other:
        started = other.start("juggle")
        assert (started.runs, started.has, started.missing) == (True, ("lamp",), ())
        hand, nod = started.parts
        assert (hand.runs, nod.runs, nod.has) == (True, True, ("HeadYaw",))
        assert nod.token is not None
        assert other.authorise(Token.from_text(nod.token), "HeadYaw") is None
        assert not other.start("look").runs  # the nod holds a part of the head
        assert [one.runs for one in other.installed().behaviours] == [False, True]
        other.stop("juggle")
        assert other.start("look").runs
        with pytest.raises(Refused, match="'look' is already running; stop it first"):
            other.start("look")
        with pytest.raises(BadInput, match="'lok' is not in the uploaded file"):
            other.start("lok")
        assert holders(other, "HeadYaw") == ["look"]
        other.stop("look")
        other.stop("look")
        assert holders(other, "HeadYaw") == []


@pytest.mark.requirement("RM-64", "AR-13")
def test_rules_apply_to_registered_and_new_owners(
    server: ReservationServer, link: ServerLink
) -> None:
    with (
        Client(server.url, "visitor", timeout_s=60.0) as visitor,
        Client(server.url, "rival") as rival,
    ):
        assert visitor.take("ball").is_granted
        link.install(RULES, "rules.yaml")
        assert visitor.take("HeadYaw").is_granted
        assert rival.take("HeadYaw", timeout_s=0.0).is_granted  # the visitor stops now
        assert not rival.take("ball", timeout_s=0.0).is_granted  # as when it was taken
        late = visitor.take("HeadYaw")  # its own limit was a minute
        assert late.kind is OutcomeKind.DENIED
        with pytest.raises(BadInput, match="with priority 4; its highest is 3"):
            visitor.take("HeadPitch", priority=4)
        link.install("owners: []\n", "none.yaml")
        assert visitor.take("HeadPitch", priority=4).is_granted
    with Client(server.url, "visitor", priority=9) as visitor:
        with pytest.raises(BadInput, match="priority of owner 'visitor' is 9"):
            link.install(RULES.replace("priority: 1, ", ""), "rules.yaml")
        assert visitor.take("HeadPitch", priority=9).is_granted
    assert link.installed().owners == ()


@pytest.mark.requirement("RM-64", "RM-8", "AR-14", "RM-17")
def test_station_configures_conflict_resolution(make_server: MakeServer) -> None:
    """Effective at once and traced; restored when a file omits it."""
    events: list[Event] = []
    ledger = Ledger(small_tree(), epoch=1, listeners=[events.append])
    with SharedLedger(ledger) as front:
        url = make_server(front).url
        with (
            ServerLink(url) as link,
            Client(url, "one", time_to_live_s=60.0) as one,
            Client(url, "two", priority=2, time_to_live_s=60.0) as two,
        ):
            assert one.take("HeadYaw").is_granted
            assert not two.take("HeadYaw", timeout_s=0.0).is_granted
            with pytest.raises(BadInput, match=r"w.yaml:2: overtake_s is inf"):
                link.install("preemption: by_priority\novertake_s: .inf\n", "w.yaml")
            assert not two.take("HeadYaw", timeout_s=0.0).is_granted
            said = link.install(
                "preemption: by_priority\novertake_s: 2.0\nretry_s: 0.25\n", "w.yaml"
            )
            assert (said.preemption, said.overtake_s) == ("by_priority", 2.0)
            assert two.take("HeadYaw", timeout_s=0.0).is_granted
            said = link.install("owners: []", "none.yaml")
            assert (said.preemption, said.retry_s, said.overtake_s) == ("off", 0.5, 5.0)
            assert link.installed() == said
    rules = [event for event in events if isinstance(event, Reconfigured)]
    assert [(e.preemption, e.retry_ticks, e.overtake_ticks) for e in rules] == [
        ("by_priority", 25, 200),
        ("off", 50, 500),
    ]
    assert check_trace(events) == ()


WRONG = {
    "preemption: yes": "w.yaml:1: preemption is 'yes'",
    "overtake_s: -1": "w.yaml:1: overtake_s is -1",
    "behaviours: [{name: a, needs: [Hed]}]": "w.yaml:1: Resource 'Hed' is not in",
    "behaviours: [{name: a, schema: look around}]": "w.yaml:1: this server has no",
    "behaviours: [{name: a, with: {for_s: 1.0}}]": "w.yaml:1: with gives parameters",
    "motions: {nod: {angles_deg: {HeadYaw: [[1.0, 9.0]]}}}": "this server has no robot",
    "behaviours:\n- {name: a}\n- {name: a}": "w.yaml:3: two owners or behaviours",
    "behaviours: [{name: mine}]": "w.yaml:1: 'mine' exists already",
    "behaviours: [{name: hotEngine}]": "'hotEngine' exists already",
    "behaviours: [{name: a, policy: lok}]": "w.yaml:1: Conflict policy 'lok' is not",
    "behaviours: [{name: a, needs: [CPU]}]": "'CPU' is shared by rates",
    "behaviours: [{name: a, needs: [Head], optional: [Head]}]": "names 'Head' twice",
    "behaviours: [{name: a, timeout_s: 61.0}]": "behaviours.0.timeout_s is 61.0",
    "behaviours: [{name: a, priority: 9}]": "w.yaml:1: priority is 9; the maximum",
    "owners: [{name: mine, priority: 1}]": "w.yaml:1: 'mine' exists already",
    "owners: [{name: x, priority: 5, max_priority: 2}]": "its highest is 2",
    "retry_s: .nan": "w.yaml:1: retry_s is nan",
    "behaviours: [{name: guest}]": "w.yaml:1: an owner named 'guest' is registered",
    "behaviours: [" + "{name: a}, " * 501 + "]": "behaviours is [",
    "resources: [{name: lamp, parent: rot}]": "w.yaml:1: Resource 'rot' is not in",
    "retry_s: !!python/name:os.system 1": "w.yaml:1: tag",
    "behaviours: {name: a": "w.yaml:1:21: is not YAML",
}


@pytest.mark.requirement("RM-64", "RM-65")
def test_file_with_an_error_changes_nothing(
    make_server: MakeServer, front: SharedLedger
) -> None:
    """Each error is reported with its line; valid parts are not installed either."""
    front.add_owner(Owner(name="mine"))
    with front.step() as (ledger, tick):
        ledger.add_virtual_owner("hotEngine", tick)
    url = make_server(front, max_priority=8).url
    with ServerLink(url) as link, Client(url, "guest", time_to_live_s=60.0):
        link.install(RULES, "rules.yaml")
        assert link.start("look").runs
        before = (link.installed(), holders_by_resource(link))
        for text, said in WRONG.items():
            good = "" if "behaviours" in text else "\nbehaviours: [{name: good}]"
            with pytest.raises(BadInput) as error:
                link.install(text + good, "w.yaml")
            assert said in str(error.value), str(error.value)
            assert (link.installed(), holders_by_resource(link)) == before
        two = "behaviours:\n- {name: a, needs: [Hed]}\n- {name: b, policy: lok}\n"
        with pytest.raises(BadInput) as error:
            link.install(two, "w.yaml")
        lines = str(error.value).split("\n")
        assert [line[:9] for line in lines] == ["w.yaml:2:", "w.yaml:3:"]


@pytest.mark.requirement("RM-64")
def test_upload_stops_changed_behaviours_only(
    link: ServerLink,
) -> None:
    link.install(RULES, "rules.yaml")
    assert link.start("look").runs
    link.install(RULES.replace("one hand", "two hands"), "rules.yaml")
    assert holders(link, "HeadYaw") == ["look"]
    assert link.start("juggle").parts[0].name == "two hands"
    link.install(RULES.replace("needs: [Head]", "needs: [HeadPitch]"), "rules.yaml")
    assert holders(link, "HeadYaw") == []
    assert holders(link, "ball") == []  # juggle's hands have changed
    with (
        pytest.raises(Refused, match="'one hand' is one of this robot's own"),
        Client(link.url, "one hand"),
    ):
        pass
    link.install("behaviours: []", "none.yaml")
    with Client(link.url, "one hand") as free:
        assert free.take("ball").is_granted


@pytest.mark.requirement("RM-64", "RM-40", "RM-33")
def test_station_revokes_and_returns_resources(
    server: ReservationServer, link: ServerLink, events: list[Event]
) -> None:
    heard: list[NoticeData] = []
    with Client(server.url, "robot 1", priority=4, on_notice=heard.append) as robot:
        token = robot.take("HeadYaw", "HeadPitch").token
        with pytest.raises(Refused, match="holds HeadPitch with priority 4; give a"):
            link.take_away("HeadPitch", priority=4)
        assert robot.authorise(token, "HeadYaw") is None
        link.take_away("HeadPitch", priority=5)
        assert robot.authorise(token, "HeadYaw") is Refusal.REVOKED
        eventually(lambda: bool(heard))
        told = heard[0]
        assert (told.kind, told.by, told.why) == (
            NoticeKind.LOST,
            "station",
            LossCause.FROZEN,
        )
        assert told.leaves == ("HeadPitch",)
        assert not robot.take("HeadPitch", timeout_s=0.0).is_granted
        link.give_back("HeadPitch")
        assert robot.take("HeadPitch", timeout_s=0.0).is_granted
        link.take_away("Head")
        link.give_back()
        assert robot.take("Head", timeout_s=0.0).is_granted
        with pytest.raises(BadInput, match="'Hed' is not in"):
            link.take_away("Hed")
    revoked = [event for event in events if isinstance(event, Revoked)]
    assert [(event.by, event.owner) for event in revoked] == [
        ("station", "robot 1")
    ] * 2
    assert [e.by for e in events if isinstance(e, Frozen)] == ["station"] * 2


def test_waiting_behaviour_does_not_block_the_server(
    front: SharedLedger, link: ServerLink
) -> None:
    front.add_owner(Owner(name="mine"))
    mine = front.take(Request(owner="mine", resources=("ball",))).token
    assert mine is not None
    link.install(
        "behaviours: [{name: catch, needs: [ball], timeout_s: 30.0}]", "w.yaml"
    )
    said: list[bool] = []
    waits = threading.Thread(target=lambda: said.append(link.start("catch").runs))
    waits.start()
    eventually(lambda: bool([r for r in link.snapshot().resources if r.waiters]))
    with pytest.raises(Refused, match="'catch' is already running"):
        link.start("catch")
    with pytest.raises(Refused, match="'catch' is starting; send it again"):
        link.install("behaviours: []", "w.yaml")
    front.release(mine)
    waits.join(60.0)
    assert said == [True]
    assert holders(link, "ball") == ["catch"]


def test_station_calls_require_the_secret(make_server: MakeServer) -> None:
    url = make_server(secret="of the robots only").url
    with ServerLink(url) as stranger:
        for call in (
            lambda: stranger.install(RULES, "rules.yaml"),
            lambda: stranger.take_away("Head"),
            lambda: stranger.start("look"),
        ):
            with pytest.raises(Refused, match="secret is missing"):
                call()
    with ServerLink(url, "of the robots only") as station:
        assert station.install(RULES, "rules.yaml").owners == ("visitor",)


@pytest.mark.requirement("RM-64")
def test_station_commands_in_a_terminal(
    server: ReservationServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.delenv("NAO_TESTBED_SECRET", raising=False)
    monkeypatch.setenv("NAO_TESTBED_URL", server.url)

    def run(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["nao-testbed", "resources", *words])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Ran(status=int(end.value.code or 0), out=said.out, err=said.err)

    path = tmp_path / "rules.yaml"
    path.write_text(RULES, "utf-8")
    sent = run("upload", str(path))
    assert (sent.status, sent.err) == (0, "")
    assert sent.out == "owner visitor\nbehaviour look\nbehaviour juggle\n"
    assert run("start", "look").out == "look: runs, with HeadPitch, HeadYaw\n"
    lacks = run("start", "juggle")
    assert lacks.status == 0
    assert lacks.out.splitlines()[-1] == "nod: does not run, without HeadYaw"
    assert run("stop", "juggle").status == 0
    assert run("revoke", "HeadYaw", "--priority", "0").status == 1
    assert run("revoke", "HeadYaw").status == 0
    assert run("start", "look").status == 1
    assert run("give-back").status == 0
    assert run("start", "look").status == 0
    path.write_text("behaviours:\n  - {name: a, needs: [Hed]}\n  - {nam: b}\n", "utf-8")
    wrong = run("upload", str(path))
    assert wrong.status == 2
    assert "rules.yaml:2: Resource 'Hed' is not in" in wrong.err
    assert "rules.yaml:3: unknown key 'behaviours.1.nam'" in wrong.err
    gone = run("upload", str(tmp_path / "none.yaml"))
    assert gone.status == 2


def test_file_is_applied_in_one_step_while_time_passes() -> None:
    """The clock advances at each call, yet no behaviour is left half stopped."""
    now, ledger = count(), Ledger(small_tree(), epoch=1)
    with SharedLedger(ledger, clock=lambda: next(now) * 0.01) as front:
        station = Station(front, max_priority=9)
        station.install(RULES, "rules.yaml", dict)
        assert station.start("juggle").runs
        station.install("behaviours: [{name: look, needs: [Head]}]", "w.yaml", dict)
        assert [one.name for one in station.installed().behaviours] == ["look"]
        with front.step():
            assert not any(map(ledger.knows, ("juggle", "nod", "one hand")))
