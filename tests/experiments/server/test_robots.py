"""Several robots and one ball: clients, lost connections, kills, restarts."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import (
    Crashed,
    Event,
    Expired,
    Granted,
    Renewed,
)
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Refusal,
    Token,
)
from nao_testbed.experiments.server.client import TRUSTED, Client, ServerRestarted
from nao_testbed.experiments.server.link import Refused, ServerLink, ServerUnreachable
from nao_testbed.experiments.server.messages import NoticeData, SnapshotData
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput
from tests.experiments.server.helpers import AT_MOST_S, Terminal, eventually
from tests.messages import Messages, each

ROOT = Path(__file__).resolve().parents[3]
MakeFront = Callable[..., SharedLedger]
MakeServer = Callable[..., ReservationServer]
Start = Callable[..., Terminal]

HOLDER = """
import sys, time
from nao_testbed.experiments.server.client import Client
with Client(sys.argv[1], "robot 1", time_to_live_s=float(sys.argv[2])) as robot:
    print(robot.take("ball").token.as_text(), flush=True)
    time.sleep(600)
"""


@pytest.fixture
def robots(server: ReservationServer) -> Iterator[Callable[..., Client]]:
    """Return a function that connects a robot to the server."""
    clients: list[Client] = []

    def bring(name: str, **more: object) -> Client:
        client = Client(server.url, name, **more)  # type: ignore[arg-type]
        clients.append(client)
        client.open()
        return client

    yield bring
    for client in reversed(clients):
        client.close()


def holders(snapshot: SnapshotData, name: str) -> list[str]:
    (row,) = [row for row in snapshot.resources if row.name == name]
    return [holding.owner for holding in row.holders]


def listen(front: SharedLedger) -> list[Event]:
    """Return a list that receives every event from now on."""
    events: list[Event] = []
    with front.step() as (ledger, _):
        ledger.add_direct_listener(events.append)
    return events


def has_waiter(link: ServerLink, name: str, n: int = 1) -> bool:
    (row,) = [row for row in link.snapshot().resources if row.name == name]
    return len(row.waiters) == n


# -- one ball --------------------------------------------------------------------------


@pytest.mark.requirement("RM-59", "RM-60", "RM-61", "RM-20")
def test_three_robots_take_one_ball_in_turn(robots: Callable[..., Client]) -> None:
    one, two, three = (robots(f"robot {i}") for i in (1, 2, 3))
    first = one.take("ball")
    assert first.token is not None
    assert one.holds(first.token)
    waits = threading.Thread(target=lambda: got.append(two.take("ball")))
    got: list[object] = []
    waits.start()
    eventually(lambda: has_waiter(one, "ball"))
    third = three.take("ball", timeout_s=0.1)
    assert third.kind is OutcomeKind.TIMED_OUT
    assert third.blockers[0].owners[0] == "robot 1"
    assert not got, "two robots hold the ball"
    one.release(first.token)
    assert not one.holds(first.token)
    waits.join(AT_MOST_S)
    assert holders(three.snapshot(), "ball") == ["robot 2"]


@pytest.mark.requirement("AR-23", "AR-25")
def test_token_can_be_extended_and_partly_released(
    robots: Callable[..., Client],
) -> None:
    one = robots("robot 1")
    token = one.take("HeadYaw").token
    assert token is not None
    more = one.take("ball", add_to=token)
    assert (more.token, more.obtained) == (token, ("ball",))
    assert one.authorise(token, "ball") is None
    one.release(token, ("HeadYaw",))
    assert one.authorise(token, "HeadYaw") is Refusal.NOT_COVERED
    assert one.holds(token)
    one.release(token, ("ball",))
    eventually(lambda: not one.holds(token))


@pytest.mark.slow(covers=True)
def test_live_client_keeps_what_it_holds(robots: Callable[..., Client]) -> None:
    one, two = robots("robot 1", time_to_live_s=2.0), robots("robot 2")
    token = one.take("ball").token
    assert token is not None
    assert not two.take("ball", timeout_s=2.5).is_granted
    assert one.holds(token)


@pytest.mark.requirement("RM-33", "RM-37")
def test_paused_robot_gets_its_resources_back(robots: Callable[..., Client]) -> None:
    back = threading.Event()

    def hear(notice: NoticeData) -> None:
        if notice.outcome is not None:
            tokens.append(Token.from_text(notice.outcome.token or ""))
            back.set()

    tokens: list[Token] = []
    one = robots("robot 1", policy="pause", on_notice=hear)
    two = robots("robot 2")
    old = one.take("Head").token
    taken = two.take("HeadYaw").token
    assert old is not None
    assert taken is not None
    eventually(lambda: not one.holds(old))
    two.release(taken)
    assert back.wait(AT_MOST_S)
    eventually(lambda: one.holds(tokens[0]))


@pytest.mark.requirement("RM-36", "AR-18")
def test_remote_callback_is_notified_and_releases_when_ready(
    robots: Callable[..., Client],
) -> None:
    def hear(notice: NoticeData) -> None:
        if notice.kind is NoticeKind.DEMANDED and token is not None:
            one.release(token)  # the kick is complete

    token: Token | None = None
    one = robots("robot 1", policy="callback", on_notice=hear)
    two = robots("robot 2")
    token = one.take("ball").token
    assert two.take("ball", timeout_s=AT_MOST_S).is_granted


class NeitherError(Exception):
    """Cannot be converted to bool, as the logging module does."""

    def __bool__(self) -> bool:
        raise RuntimeError


@pytest.mark.parametrize("raised", [ValueError, NeitherError, KeyboardInterrupt])
def test_error_in_on_notice_does_not_stop_the_reader(
    robots: Callable[..., Client], raised: type[BaseException]
) -> None:
    heard: list[NoticeData] = []

    def hear(notice: NoticeData) -> None:
        heard.append(notice)
        raise raised

    one, two = robots("robot 1", on_notice=hear), robots("robot 2")
    one.take("ball")
    for _ in range(2):
        two.take("ball", timeout_s=0.0)
    eventually(lambda: len(heard) == 2)


def test_notices_can_be_iterated(robots: Callable[..., Client]) -> None:
    one, two = robots("robot 1"), robots("robot 2")
    told: list[NoticeData] = []
    reader = threading.Thread(target=lambda: told.extend(one.notices()))
    reader.start()
    one.take("ball")
    eventually(lambda: two.take("ball", timeout_s=0.0) is not None and bool(told))
    one.close()
    reader.join(AT_MOST_S)
    assert {notice.kind for notice in told} == {NoticeKind.DEMANDED}


def test_disconnected_reader_gets_each_notice_once(
    robots: Callable[..., Client],
) -> None:
    told: list[int] = []
    one = robots("robot 1", on_notice=lambda notice: told.append(notice.number))
    two = robots("robot 2")
    one.take("ball")
    for number in (1, 2, 3):
        two.take("ball", timeout_s=0.0)
        eventually(lambda n=number: len(told) >= n)  # type: ignore[misc]
        one._reader._disconnect()
    assert told == [1, 2, 3]


def test_missed_loss_is_known_after_the_next_sign_of_life(
    robots: Callable[..., Client],
    server: ReservationServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = robots("robot 1", time_to_live_s=60.0)
    monkeypatch.setattr(one._reader, "_apply_notice", lambda _: None)
    gone, kept = one.take("ball").token, one.take("Head").token
    assert gone is not None
    assert kept is not None
    with ServerLink(server.url) as stranger:
        stranger.release(gone)
    one.renew()
    assert (one.holds(gone), one.holds(kept)) == (False, True)


@pytest.mark.requirement("AR-19", "AR-20")
def test_partial_loss_leaves_the_token_held(
    robots: Callable[..., Client],
) -> None:
    one, two = robots("robot 1", policy="stop"), robots("robot 2")
    part = one.take("HeadYaw", "ball", loss=Loss.PARTIAL).token
    assert part is not None
    two.take("ball")
    one.renew()
    assert one.holds(part)
    two.take("HeadYaw")
    eventually(lambda: not one.holds(part))


# -- lost connections ------------------------------------------------------------------


@pytest.mark.requirement("RM-59", "RM-61")
def test_silent_client_stops_before_its_resources_are_granted(
    robots: Callable[..., Client],
    front: SharedLedger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its clock runs, but its signs of life are lost."""
    events = listen(front)
    live_s = 1.0
    one = robots("robot 1", time_to_live_s=live_s)
    token = one.take("ball").token
    assert token is not None
    monkeypatch.setattr(one, "_own", unanswered)
    assert one.holds(token)
    assert robots("robot 2").take("ball", timeout_s=AT_MOST_S).is_granted
    assert not one.holds(token)
    crashed = next(event for event in events if isinstance(event, Crashed))
    freed_s = front._begin + crashed.tick * front._tick_s
    margin_s = freed_s - one._trusted.until_s
    assert 0.5 * (1.0 - TRUSTED) * live_s < margin_s < live_s
    assert isinstance(one.why_lost, ServerUnreachable)
    assert one.authorise(token, "ball") is Refusal.EXPIRED


def unanswered(*_: object, **__: object) -> object:
    raise ServerUnreachable("the cable is out")


@pytest.mark.slow(covers=True)
@pytest.mark.requirement("RM-59", "RM-61")
def test_killed_client_loses_the_ball_after_its_time_to_live(
    server: ReservationServer, front: SharedLedger, robots: Callable[..., Client]
) -> None:
    """I-9 with kill -9: late commands are refused, and the waiter gets the ball."""
    live_s = 2.0
    events = listen(front)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, server.url, str(live_s)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        token = Token.from_text(Terminal(process).line())
        two = robots("robot 2")
        assert two.authorise(token, "ball") is None
        got: list[Outcome] = []
        waiter = threading.Thread(
            target=lambda: got.append(two.take("ball", timeout_s=AT_MOST_S))
        )
        waiter.start()
        eventually(lambda: has_waiter(two, "ball"))
        process.kill()
        waiter.join(AT_MOST_S)
    finally:
        process.kill()
        process.communicate()
    mine = [e for e in events if getattr(e, "owner", "") == "robot 1"]
    last_sign = max(e.tick for e in mine if isinstance(e, Renewed | Granted))
    crashed = next(e for e in mine if isinstance(e, Crashed))
    (expired,) = [e for e in mine if isinstance(e, Expired)]
    assert crashed.tick == expired.tick == last_sign + round(live_s / 0.01)
    assert (got[0].is_granted, got[0].tick) == (True, crashed.tick)
    assert two.authorise(token, "ball") is Refusal.EXPIRED
    with pytest.raises(Refused, match="EXPIRED"):
        two.release(token)
    names = [owner.name for owner in two.snapshot().owners]
    assert names == ["robot 2"], "the killed owner is still known"


# -- restart ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.requirement("RM-59", "AR-7")
def test_older_tokens_are_refused_after_a_restart(
    terminal: Start, tmp_path: Path
) -> None:
    """I-12: the killed server restarts on its port in a higher epoch."""
    serve = f"resources serve --object ball --state {tmp_path}/epoch --port "
    first = terminal(serve + "0")
    url = first.line()
    port = url.rpartition(":")[2]
    heard: list[NoticeData] = []
    with Client(url, "robot 1", time_to_live_s=3.0, on_notice=heard.append) as robot:
        old = robot.take("ball").token
        assert old is not None
        assert old.epoch == 1
        first.process.kill()
        first.process.wait()
        with pytest.raises(ServerUnreachable):
            robot.renew()
        second = terminal(serve + port)
        assert second.line() == url
        eventually(lambda: isinstance(robot.why_lost, ServerRestarted))
        assert not robot.holds(old)
        assert robot.authorise(old, "ball") is Refusal.WRONG_EPOCH
        with pytest.raises(Refused, match="WRONG_EPOCH"):
            ServerLink.release(robot, old)
        new = robot.take("ball").token
        assert new is not None
        assert (new.epoch, robot.holds(new)) == (2, True)
        heard.clear()
        with Client(url, "robot 2") as other:
            other.take("ball", timeout_s=0.0)
            eventually(lambda: bool(heard))
    os.kill(second.process.pid, signal.SIGTERM)
    assert second.end()[0] == 0


@pytest.mark.slow
@pytest.mark.requirement("RM-40")
def test_client_cannot_use_the_name_of_a_virtual_owner(
    terminal: Start, tmp_path: Path
) -> None:
    served = terminal(f"resources serve --state {tmp_path}/epoch --port 0")
    url = served.line()
    for name in ("RobotModel", "hotEngine", "brokenArm"):
        with (
            pytest.raises(BadInput, match=f"'{name}' is a virtual owner"),
            Client(url, name),
        ):
            pass
    os.kill(served.process.pid, signal.SIGTERM)
    assert served.end()[0] == 0


# -- errors ----------------------------------------------------------------------------


def test_ctrl_c_while_waiting_leaves_no_request_behind(
    robots: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nao_testbed.experiments.server.client.MAX_WAIT_S", 0.1)
    one, two = robots("robot 1"), robots("robot 2")
    one.take("ball")
    insist = two._call_until_answered

    def interrupted(*args: Any, **more: Any) -> object:
        insist(*args, **more)
        assert has_waiter(one, "ball")
        raise KeyboardInterrupt

    monkeypatch.setattr(two, "_call_until_answered", interrupted)
    with pytest.raises(KeyboardInterrupt):
        two.take("ball")
    assert has_waiter(one, "ball", n=0)


@pytest.mark.requirement("RM-26", "RM-59")
def test_child_of_a_remote_robot_uses_its_resources(
    server: ReservationServer, robots: Callable[..., Client]
) -> None:
    robot, rival = robots("robot 1"), robots("robot 2")
    whole = robot.take("Head").token
    with Client(server.url, "its look", parent=robot) as look:
        part = look.take("HeadYaw", timeout_s=0.0).token
        assert part is not None
        assert look.authorise(part, "HeadYaw") is None
        assert robot.authorise(whole, "HeadYaw") is Refusal.NOT_COVERED
        assert not rival.take("HeadYaw", timeout_s=0.0).is_granted
    assert robot.authorise(whole, "HeadYaw") is None


def test_messages(messages: Messages, robots: Callable[..., Client]) -> None:
    messages(
        a_malformed_address=each(
            lambda url: Client(url, "robot 1"),
            "",
            "ball",
            "127.0.0.1:8640",
            "ftp://x",
            "http://",
            "http://x:99999",
            "http://me:pw@x",
            "http://x?y=1",
            "http://[::1",
        ),
        what_the_server_refuses_is_bad_input_here=[
            lambda: robots("robot 1").take("bal"),
            lambda: robots("robot 1"),
        ],
    )
