"""Unusual bodies at every route get an error message, without any change.

Part of a longer search; each route gets its own fields with unusual values.
"""

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.experiments.server.service.connections import RequestFilter
from nao_testbed.experiments.server.service.owner_service import Service
from nao_testbed.experiments.server.service.routes import MAX_BODY, Routes
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.testing import check_trace
from tests.experiments.server.helpers import small_tree

ODD = [
    *("NaN", "1e309", "-0.0", "true", "null", '"5"', "[]", "{}", "01"),
    *(
        "9" * 5000,
        "1." + "3" * 5000,
        '"\\ud800"',
        '"\\u202e"',
        '"' + "x" * 99_999 + '"',
    ),
    *("[" * n + "]" * n for n in (900, 960, 100_000)),
    '{"a":' * 500 + "1" + "}" * 500,
]
"""Valid and almost valid JSON."""
FIELDS = {
    "/resources": {"name": '"cup"', "parent": '"Objects"', "kind": '"exclusive"'},
    "/owners": {
        "name": '"a"',
        "parent_key": "null",
        "policy": '{"name": "stop", "settings": {"within_s": 1}}',
        "priority": "1",
        "timeout_s": "0.0",
        "time_to_live_s": "5",
        "asker_tie": '"loses"',
    },
    "/owner/requests": {
        "resources": '["ball"]',
        "optional": "[]",
        "rates": '{"CPU": 5}',
        "priority": "1",
        "timeout_s": "0",
        "add_to": "null",
        "wait_s": "0",
    },
    "/release": {"token": '"1-1-0000000000000000"', "names": '["ball"]'},
    "/authorise": {"resource": '"ball"', "token": "null"},
    "/rules": {"name": '"w.yaml"', "text": '"retry_s: 1.0"'},
    "/start": {"name": '"look"'},
    "/stop": {"name": '"look"'},
    "/take-away": {"names": '["ball"]', "priority": "0"},
    "/give-back": {"names": '["ball"]'},
}
WHOLE = [
    *(b"", b"null", b"5", b"[]", b'"x"', b"\xff\xfe", b'{"name": "\xff"}', b"{" * 9000),
    *("{}".encode("utf-16"), b"\xef\xbb\xbf{}", b"{}}", b'{"a": 1, "a": 2}'),
    b'"' + b"x" * 1_000_000 + b'"',
]
YAML = [
    *(f"retry_s: {n}" for n in (".nan", ".inf", "1e309", "9" * 5000, "0x" + "f" * 999)),
    *("[" * 2000, "- " * 2000, "a: &a [*a]", "retry_s: 1\nretry_s: 2", "\x00", ""),
    "owners: [{name: !!binary aGVsbG8=}]",
    "behaviours: [{name: a, rates: {\u202e: 1}}]",
]
JSON = {"content-type": "application/json"}


def bodies() -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Yield path, body and headers."""
    for path, fields in FIELDS.items():
        for odd in fields:
            for value in ODD:
                said = {**fields, odd: value}
                text = ", ".join(f'"{key}": {v}' for key, v in said.items())
                yield path, f"{{{text}}}".encode(), JSON
        for body in WHOLE:
            yield path, body, JSON
        text = ", ".join(f'"{key}": {v}' for key, v in fields.items())
        for kind in ("text/plain", "multipart/form-data", "", "application/x"):
            yield path, f"{{{text}}}".encode(), {"content-type": kind}
    for text in YAML:
        yield "/rules", json.dumps({"name": "w.yaml", "text": text}).encode(), JSON


@pytest.mark.slow(covers=True)
@pytest.mark.requirement("RM-65")
def test_every_route_answers_an_unusual_body_with_a_message() -> None:
    events: list[Event] = []
    ledger = Ledger(small_tree(), epoch=1, listeners=[events.append])

    async def ask_all(routes: Routes) -> int:
        app = RequestFilter(
            routes.app, epoch=1, secret=None, hosts=None, max_body=MAX_BODY
        )
        transport = httpx.ASGITransport(app)
        count = 0
        async with httpx.AsyncClient(transport=transport, base_url="http://s") as http:
            key = (await http.post("/owners", json={"name": "b"})).json()["key"]
            for path, body, headers in bodies():
                said = await http.post(
                    path, content=body, headers={**headers, "owner-key": key}
                )
                check_answer(said)
                count += 1
            for odd in ("9" * 5000, "NaN", "-1", "x" * 5000, "%00"):
                check_answer(await http.get(f"/owner/requests/{odd}"))
                check_answer(await http.get(f"/{odd}"))
                check_answer(await http.get(f"/behaviours/{odd}"))
                check_answer(await http.get(f"/owner/requests/1?wait_s={odd}"))
                check_answer(await http.get("/rules", headers={"owner-key": odd}))
                check_answer(await http.post("/rules", headers={"content-length": odd}))
        return count

    with SharedLedger(ledger) as front:
        assert asyncio.run(ask_all(Routes(Service(front)))) > 600
    assert check_trace(events) == ()


def check_answer(said: httpx.Response) -> None:
    """Check that an answer is a success or a short printable error."""
    where = (said.request.method, str(said.request.url)[:60], said.request.content[:99])
    assert 200 <= said.status_code < 300 or 400 <= said.status_code < 500, where
    if said.status_code >= 400:
        error = said.json()["error"]
        assert len(error) > 10, where
        assert len(error) < 2000, where
        assert error.replace("\n", "").isprintable(), (*where, error)
