"""The page of the reservations in a real browser (RM-62, RM-63)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from nao_testbed.controllers.arbitration.policies import StopOnDemand
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from tests.experiments.common.browser import listen
from tests.experiments.server.helpers import small_tree

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

LATEST_MS = 60_000
pytestmark = pytest.mark.slow(covers=True)


@pytest.fixture
def busy(front: SharedLedger) -> SharedLedger:
    """Ledger with all kinds of owners, waiters, a state, rates and virtual owners."""
    for owner in (
        Owner(name="greet", priority=3),
        Owner(name="greet/nod", parent="greet"),
        Owner(name="look around", policy=StopOnDemand(within_s=60.0)),
        Owner(name="planner"),
        Owner(name="<img src=x onerror=alert(1)>"),
    ):
        front.add_owner(owner)
    front.take(Request(owner="greet", resources=("Head",)))
    front.take(Request(owner="greet/nod", resources=("HeadPitch",)))
    front.take(Request(owner="<img src=x onerror=alert(1)>", resources=("ball",)))
    front.ask(Request(owner="look around", resources=("Head",), timeout_s=600.0))
    front.ask(Request(owner="planner", resources=("Sit", "ball"), timeout_s=900.0))
    front.take(Request(owner="planner", rates={"CPU": 12.5}))
    front.take(Request(owner="look around", rates={"CPU": 40.0}))
    with front.step() as (ledger, tick):
        ledger.set_state("State", "Stand", tick)
        ledger.freeze(["HeadYaw"], "hotEngine", tick, effort_cap=0.3, is_total=False)
        ledger.add_resource("second ball", "Objects", tick)
        ledger.freeze(["second ball"], "lostBall", tick)
    return front


@pytest.fixture
def page(
    browser: "Browser", server: ReservationServer, busy: SharedLedger
) -> Iterator["Page"]:
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    heard = listen(page)
    page.goto(server.url)
    page.locator(".row[data-name=ball]").wait_for(timeout=LATEST_MS)
    yield page
    page.close()
    assert all(url.startswith((server.url, "data:")) for url in heard.asked)
    assert not heard.said + heard.faults


def text_of(page: "Page", name: str) -> str:
    return str(page.locator(f".row[data-name='{name}']").inner_text())


def becomes(page: "Page", name: str, text: str) -> None:
    row = page.locator(f".row[data-name='{name}']")
    row.filter(has_text=text).wait_for(timeout=LATEST_MS)


@pytest.mark.requirement("RM-62", "RM-63", "RM-41")
def test_page_shows_owners_waiters_states_rates_and_virtual_owners(
    page: "Page",
) -> None:
    assert "→ greet use" in text_of(page, "Head")  # the parent still holds the yaw
    pitch = text_of(page, "HeadPitch")
    assert pitch.index("greet/nod use") < pitch.index("→ greet lent")
    assert pitch.index("→ greet lent") < pitch.index("Waiter: look around")
    assert pitch.rstrip().endswith("1")
    assert "Activated" in text_of(page, "Stand")
    assert "Activated" not in text_of(page, "Sit")
    assert "Waiter: planner" in text_of(page, "Sit")
    cpu = text_of(page, "CPU")
    assert all(part in cpu for part in ("52.5 % used", "12.5 %", "40 %"))
    assert "hotEngine effort ≤ 0.3" in text_of(page, "HeadYaw")
    assert "lostBall unavailable" in text_of(page, "second ball")
    owners = page.locator("#owners").inner_text()
    assert "stop · priority 0" in owners
    assert "lock · priority 3" in owners


@pytest.mark.requirement("RM-62", "RM-63")
def test_page_lists_held_resources_first(page: "Page", busy: SharedLedger) -> None:
    """One row per hold: a composite replaces its parts; free resources follow."""
    headings = page.locator("h2").all_inner_texts()
    assert headings == ["Held or requested", "All resources", "Owners"]
    rows = page.locator("#held .row")
    assert [row.get_attribute("data-held") for row in rows.all()] == [
        "Sit",
        "Head",
        "HeadYaw",
        "HeadPitch",
        "CPU",
        "ball",
        "second ball",
    ]
    said = {row.get_attribute("data-held"): row.inner_text() for row in rows.all()}
    assert "→ greet use" in said["Head"]
    assert "Waiter: look around" in said["Head"]
    assert "hotEngine" in said["HeadYaw"]
    assert "greet/nod use" in said["HeadPitch"]
    assert "→ greet lent" not in said["HeadPitch"]
    assert "40 %" in said["CPU"]
    for owner in ("greet", "planner", "look around", "<img src=x onerror=alert(1)>"):
        busy.drop(owner)
    with busy.step() as (ledger, tick):
        ledger.thaw("hotEngine", tick)
        ledger.thaw("lostBall", tick)
    held = page.locator("#held").filter(has_text="no resource is held or waited for")
    held.wait_for(timeout=LATEST_MS)


def test_names_are_escaped(page: "Page") -> None:
    assert "<img src=x onerror=alert(1)>" in text_of(page, "ball")
    assert page.locator("img").count() == 0


@pytest.mark.requirement("RM-62")
def test_page_updates_itself(page: "Page", busy: SharedLedger) -> None:
    with busy.step() as (ledger, tick):
        ledger.set_state("State", "Sit", tick)
    becomes(page, "Sit", "Activated")
    busy.drop("<img src=x onerror=alert(1)>")
    becomes(page, "ball", "→ planner")
    with busy.step() as (ledger, tick):
        ledger.add_resource("cup", "Objects", tick)
    becomes(page, "cup", "free")


def test_parts_of_a_composite_can_be_collapsed(page: "Page") -> None:
    page.get_by_role("button", name="parts of Head").click()
    page.locator(".row[data-name=HeadYaw]").wait_for(state="detached")
    page.get_by_role("button", name="parts of Head").click()
    page.locator(".row[data-name=HeadYaw]").wait_for()


def test_page_fits_a_phone(page: "Page") -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, "horizontal scrolling is required"
    assert page.locator(".row[data-name=ball] .wait").is_visible()


def test_page_reports_a_lost_server(browser: "Browser", tmp_path: Path) -> None:
    from nao_testbed.controllers.arbitration.manager.ledger import Ledger
    from nao_testbed.experiments.server.service.address import ServerCfg

    page = browser.new_page()
    with SharedLedger(Ledger(small_tree())) as front:
        with ReservationServer(front, ServerCfg(port=0)) as server:
            page.goto(server.url)
            page.locator("#state.live").wait_for(timeout=LATEST_MS)
        page.locator("#state.lost").wait_for(timeout=LATEST_MS)
    page.close()


def test_page_reconnects_when_a_full_server_has_room(
    browser: "Browser", make_server: Callable[..., ReservationServer]
) -> None:
    """A refused EventSource does not retry by itself."""
    page = browser.new_page()
    url = make_server().url

    def refuse(route: "Route") -> None:
        route.fulfill(status=503, body="full")

    page.route("**/events", refuse)
    page.goto(url)
    page.locator("#state.lost").wait_for(timeout=LATEST_MS)
    page.unroute("**/events")
    page.locator("#state.live").wait_for(timeout=LATEST_MS)
    page.close()


def test_page_asks_for_the_secret(
    browser: "Browser", make_server: Callable[..., ReservationServer]
) -> None:
    server = make_server(secret="correct horse")
    assert httpx.get(server.url).status_code == 401
    context = browser.new_context(
        http_credentials={"username": "anybody", "password": "correct horse"}
    )
    page = context.new_page()
    page.goto(server.url)
    page.locator("#state.live").wait_for(timeout=LATEST_MS)
    context.close()
