"""The HTTP routes of the reservation server."""

import json
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.experiments.server.client import Client
from nao_testbed.experiments.server.link import ServerUnreachable
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from tests.experiments.server.helpers import (
    AT_MOST_S,
    ask,
    eventually,
    picture,
    register,
)

MakeServer = Callable[..., ReservationServer]
TOKEN = re.compile(r"\d+-\d+-[0-9a-f]{16}")


@pytest.fixture
def http(server: ReservationServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=AT_MOST_S, verify=False) as client:
        yield client


# -- requests --------------------------------------------------------------------------


@pytest.mark.requirement("RM-59", "RM-60", "AR-4")
def test_remote_owner_takes_and_releases(http: httpx.Client) -> None:
    key = register(http, "robot 1")
    outcome = ask(http, key, "ball")["outcome"]
    assert outcome["kind"] == "granted"
    rows = {row["name"]: row for row in http.get("/resources").json()["resources"]}
    assert [h["owner"] for h in rows["ball"]["holders"]] == ["robot 1"]
    assert http.post("/release", json={"token": outcome["token"]}).status_code == 204
    late = http.post("/release", json={"token": outcome["token"]})
    assert (late.status_code, "RELEASED" in late.text) == (409, True)


@pytest.mark.requirement("RM-59")
def test_closed_ledger_is_a_server_error(
    http: httpx.Client, front: SharedLedger
) -> None:
    key = register(http, "robot 1")
    front.close()
    body = {"resources": ["ball"], "timeout_s": 1.0}
    late = http.post("/owner/requests", json=body, headers=key)
    assert late.status_code == 503
    assert "ledger is closed" in late.json()["error"]


@pytest.mark.requirement("RM-59")
def test_client_of_a_closed_ledger_fails_after_its_time_to_live(
    front: SharedLedger, server: ReservationServer
) -> None:
    with Client(server.url, "robot 2", time_to_live_s=2.0) as robot:
        front.close()
        with pytest.raises(
            ServerUnreachable, match="try again when the server has a new"
        ):
            robot.take("ball", timeout_s=1.0)


@pytest.mark.requirement("AR-10", "AR-11", "AR-12")
def test_authorise_route_checks_a_token(http: httpx.Client) -> None:
    token = ask(http, register(http, "a"), "ball")["outcome"]["token"]
    forged = token[:-16] + "0123456789abcdef"

    def verdict(token: str | None, resource: str) -> Any:
        body = {"token": token, "resource": resource}
        return http.post("/authorise", json=body).json()

    assert verdict(token, "ball") == {"is_allowed": True, "reason": None}
    assert verdict(token, "HeadYaw")["reason"] == "NOT_COVERED"
    assert verdict(forged, "ball")["reason"] == "UNKNOWN"
    assert verdict(None, "ball")["reason"] == "NO_TOKEN"
    assert verdict("9-1-0123456789abcdef", "ball")["reason"] == "WRONG_EPOCH"


def test_waiting_call_is_answered_with_the_outcome(
    http: httpx.Client, front: SharedLedger
) -> None:
    first, second = register(http, "a"), register(http, "b")
    token = ask(http, first, "ball")["outcome"]["token"]
    ticket = ask(http, second, "ball", timeout_s=AT_MOST_S)
    assert ticket["outcome"] is None
    place = f"/owner/requests/{ticket['ticket']}"
    assert http.get(place, headers=second).json()["outcome"] is None
    answers: list[Any] = []
    waiting = threading.Thread(
        target=lambda: answers.append(
            httpx.get(
                f"{http.base_url}{place}?wait_s=10", headers=second, timeout=AT_MOST_S
            )
        )
    )
    waiting.start()
    http.post("/release", json={"token": token})
    waiting.join()
    assert answers[0].json()["outcome"]["kind"] == "granted"


def test_request_with_a_repeated_mark_is_made_once(http: httpx.Client) -> None:
    key = register(http, "a")
    first = ask(http, key, "ball", mark="x")
    assert ask(http, key, "ball", mark="x") == first


@pytest.mark.requirement("RM-26", "RM-28")
@pytest.mark.parametrize("terms", [{}, {"mode": "reserve"}])
def test_only_children_may_use_resources_of_an_owner(
    http: httpx.Client, terms: dict[str, str]
) -> None:
    """The mode sent by earlier clients is accepted and ignored."""
    parent, stranger = register(http, "parent"), register(http, "stranger")
    child = register(http, "child", parent_key=parent["Owner-Key"])
    ask(http, parent, "Head", **terms)
    assert ask(http, stranger, "HeadYaw")["outcome"]["kind"] == "denied"
    assert ask(http, child, "HeadYaw")["outcome"]["kind"] == "granted"


@pytest.mark.requirement("RM-33", "AR-18", "RM-35")
def test_notices_are_pushed_and_reconnecting_loses_none(
    http: httpx.Client,
) -> None:
    key = register(http, "a", policy={"name": "stop"})
    other = register(http, "b")
    ask(http, key, "ball")
    ask(http, other, "ball")

    def read(last: int, n: int) -> list[Any]:
        headers = {**key, "Last-Event-ID": str(last)}
        found: list[Any] = []
        with http.stream("GET", "/owner/notices", headers=headers) as stream:
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    found.append(json.loads(line[5:]))
                if len(found) == n:
                    return found
        return found

    told = read(0, 2)
    assert [(t["number"], t["kind"]) for t in told] == [(1, "demanded"), (2, "lost")]
    assert told[1]["why"] == "yielded"
    assert read(1, 1) == told[1:]


def test_late_reader_learns_the_number_of_missed_notices(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nao_testbed.experiments.server.shared_ledger.KEPT", 2)
    key, other = register(http, "a"), register(http, "b")
    ask(http, key, "ball")
    for _ in range(4):
        ask(http, other, "ball")
    lines = []
    with http.stream("GET", "/owner/notices", headers=key) as stream:
        for line in stream.iter_lines():
            lines.append(line)
            if line == "id: 4":
                break
    assert 'data: {"n_missed": 2}' in lines
    assert [line for line in lines if line.startswith("id")] == ["id: 3", "id: 4"]


def test_tokens_and_keys_are_visible_to_their_owner_only(http: httpx.Client) -> None:
    keys = [register(http, name) for name in "abc"]
    token = ask(http, keys[0], "ball")["outcome"]["token"]
    ask(http, keys[1], "ball", timeout_s=20.0)
    seen = http.get("/resources").text + http.get("/").text
    with http.stream("GET", "/events") as stream:
        seen += next(line for line in stream.iter_lines() if line.startswith("data"))
    with http.stream("GET", "/owner/notices", headers=keys[1]) as stream:
        seen += next(stream.iter_text())
    assert not TOKEN.search(seen)
    for secret in (token, token[-16:], *(key["Owner-Key"] for key in keys)):
        assert secret not in seen
    mine = http.get("/owner/requests/1", headers=keys[2])
    assert mine.status_code == 404


# -- snapshots -------------------------------------------------------------------------


@pytest.mark.requirement("RM-62")
def test_snapshot_never_shows_half_of_a_change(
    server: ReservationServer, front: SharedLedger, http: httpx.Client
) -> None:
    """Threads take both joints at once; a snapshot shows both or none."""
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # switch threads as often as possible
    stop = threading.Event()

    def work(name: str) -> None:
        while not stop.is_set():
            outcome = front.take(
                Request(owner=name, resources=("HeadYaw", "HeadPitch"), timeout_s=1.0)
            )
            if outcome.token:
                front.release(outcome.token)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for name in ("a", "b"):
        front.add_owner(Owner(name=name))
    for thread in threads:
        thread.start()
    try:
        held = set()
        for _ in range(30):
            rows = {r["name"]: r for r in http.get("/resources").json()["resources"]}
            yaw, pitch = rows["HeadYaw"], rows["HeadPitch"]
            assert yaw["holders"] == pitch["holders"] == rows["Head"]["holders"]
            assert [w["request"] for w in yaw["waiters"]] == [
                w["request"] for w in pitch["waiters"]
            ]
            held |= {holder["owner"] for holder in yaw["holders"]}
    finally:
        sys.setswitchinterval(interval_s)
        stop.set()
        for thread in threads:
            thread.join()
    assert held, "no holder was seen, so nothing was tested"


@pytest.mark.requirement("RM-63", "RM-56", "RM-52")
def test_list_has_states_rates_and_virtual_owners(
    http: httpx.Client, front: SharedLedger
) -> None:
    front.add_owner(Owner(name="planner"))
    front.ask(Request(owner="planner", rates={"CPU": 12.5}, resources=("Stand",)))
    with front.step() as (ledger, tick):
        ledger.set_state("State", "Stand", tick)
        ledger.freeze(["HeadYaw"], "hotEngine", tick, effort_cap=0.2)
    rows = {row["name"]: row for row in http.get("/resources").json()["resources"]}
    assert rows["Stand"]["is_active"] is True
    assert rows["Sit"]["is_active"] is False
    assert rows["CPU"]["used_percent"] == 12.5
    assert rows["CPU"]["holders"][0]["share_percent"] == 12.5
    assert rows["HeadYaw"]["virtual"] == [
        {"by": "hotEngine", "is_total": True, "effort_cap": 0.2}
    ]
    assert rows["Head"]["virtual"] == []


def test_holding_all_of_a_composite_is_shown_at_the_composite(
    http: httpx.Client, front: SharedLedger
) -> None:
    front.add_owner(Owner(name="parent"))
    front.add_owner(Owner(name="child", parent="parent"))
    front.take(Request(owner="parent", resources=("Head",)))
    for name, shown in (("HeadYaw", False), ("HeadPitch", True)):
        front.take(Request(owner="child", resources=(name,)))
        rows = {row["name"]: row for row in http.get("/resources").json()["resources"]}
        holders = [(h["owner"], h["is_lent"]) for h in rows["Head"]["holders"]]
        assert holders == [("parent", shown)]  # lent while any part of it is lent
        holders = [(h["owner"], h["is_lent"]) for h in rows[name]["holders"]]
        assert holders == [("child", False), ("parent", True)]
        said = [h["mode"] for h in rows[name]["holders"]]
        assert said == ["use", "reserve"]  # the form for earlier clients


# -- lifetime of owners ----------------------------------------------------------------


def test_name_is_taken_until_its_owner_has_left(http: httpx.Client) -> None:
    key = register(http, "a", time_to_live_s=60.0)
    second = http.post("/owners", json={"name": "a"})
    assert (second.status_code, "60 s" in second.text) == (409, True)
    changed = http.post("/owners", json={"name": "a", "priority": 3}, headers=key)
    assert changed.status_code == 201, "the owner may change its settings"
    http.delete("/owner", headers=key)
    register(http, "a")


def test_remote_owner_cannot_use_the_name_of_a_local_owner(
    http: httpx.Client, front: SharedLedger
) -> None:
    front.add_owner(Owner(name="walk", priority=9))
    answer = http.post("/owners", json={"name": "walk"})
    assert (answer.status_code, "robot's own" in answer.text) == (409, True)


def test_leaving_owner_leaves_nothing_behind(http: httpx.Client) -> None:
    before = picture(http)
    parent = register(http, "parent")
    child = register(http, "child", parent_key=parent["Owner-Key"])
    ask(http, child, "ball")
    http.delete("/owner", headers=parent)
    assert http.post("/owner/alive", headers=child).status_code == 410
    assert picture(http) == before


# -- clients that do not read ----------------------------------------------------------


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize("by_socket", [True, False])
def test_client_that_never_reads_is_disconnected(
    make_server: MakeServer,
    make_front: Callable[..., SharedLedger],
    monkeypatch: pytest.MonkeyPatch,
    by_socket: bool,
) -> None:
    if not by_socket:  # as on macOS and Windows
        monkeypatch.delattr(socket, "TCP_USER_TIMEOUT")
    front = make_front()
    server = make_server(front, silent_reader_s=0.5)
    port = int(server.url.rpartition(":")[2])
    for k in range(4):
        front.add_owner(Owner(name=f"{k}" + "a" * 999))
    for number in range(400):  # a long list soon fills the buffers
        with front.step() as (ledger, tick):
            ledger.add_resource(f"thing {number}", "Objects", tick)
    n_before = len(front.on_change)
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.connect(("127.0.0.1", port))
    deaf.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    eventually(lambda: len(front.on_change) == n_before + 1)

    def change() -> bool:
        front.take(Request(owner="0" + "a" * 999, resources=("ball",), timeout_s=0.0))
        seen = httpx.get(f"{server.url}/resources", verify=False, timeout=AT_MOST_S)
        assert seen.status_code == 200
        return len(front.on_change) == n_before

    eventually(change)
    deaf.close()
