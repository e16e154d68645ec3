"""Snapshots for pages are never older than the last change (RM-62)."""

from collections.abc import Callable
from threading import Thread

import pytest

from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.experiments.server.messages import SnapshotData
from nao_testbed.experiments.server.service.owner_service import Service
from nao_testbed.experiments.server.service.routes import Routes
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from tests.experiments.server.helpers import eventually


@pytest.mark.requirement("RM-62")
def test_change_during_a_snapshot_is_in_the_next_one(
    front: SharedLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that asks again immediately must not get the old snapshot."""
    front.add_owner(Owner(name="walk"))
    service = Service(front)
    routes = Routes(service)
    made = service.snapshot

    def changed_meanwhile() -> SnapshotData:
        monkeypatch.undo()
        picture = made()
        request = Request(owner="walk", resources=("ball",))
        other = Thread(target=front.take, args=(request,))
        other.start()
        other.join()
        return picture

    monkeypatch.setattr(service, "snapshot", changed_meanwhile)
    held = '"owner":"walk"'
    assert held not in routes._fresh_snapshot()
    assert held in routes._fresh_snapshot()


def test_leaving_page_does_not_block_updates_of_another(front: SharedLedger) -> None:
    heard: list[str] = []

    def leaves() -> None:
        heard.append("leaves")
        front.on_change.remove(leaves)

    def stays() -> None:
        heard.append("stays")

    pages: list[Callable[[], None]] = [leaves, stays]
    front.on_change += pages
    front.add_owner(Owner(name="walk"))
    eventually(lambda: sorted(heard) == ["leaves", "stays"])
