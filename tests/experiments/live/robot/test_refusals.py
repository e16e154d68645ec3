"""Commands refused by the gate: owner, resource, reason and count of the newest."""

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import Refusal, Token
from nao_testbed.experiments.live.robot.live_robot import PANEL_SLOTS
from nao_testbed.experiments.live.robot.operation import GiveBack, Take, TurnHead
from nao_testbed.experiments.live.robot.refusals import KEPT, MAX_TOKENS, Refusals
from tests.experiments.live.robot.test_live_robot import (
    MakeLive,
    make_live,  # noqa: F401
    run,
)


def test_commands_without_a_token_are_counted(make_live: MakeLive) -> None:  # noqa: F811
    live = make_live()
    first = live.moment().reservations
    assert first is not None
    assert first.refused == ()
    for _ in range(3):
        live.act(TurnHead(yaw_deg=10.0, pitch_deg=0.0))
    run(live, PANEL_SLOTS)
    now = live.moment().reservations
    assert now is not None
    (one,) = now.refused
    assert (one.owner, one.resource, one.reason) == ("nobody", "HeadPitch", "NO_TOKEN")
    assert one.count == 3
    run(live, PANEL_SLOTS)
    assert live.moment().reservations is None  # no change


def test_owner_of_a_former_token_is_named(make_live: MakeLive) -> None:  # noqa: F811
    live = make_live()
    live.act(Take(resource="Head"))
    token = live.operator._tokens["Head"]
    live.act(GiveBack(resource="Head"))
    live.body.gate.submit(token, "HeadYaw", 0.1)
    run(live, 1)
    now = live.moment().reservations
    assert now is not None
    seen = [(one.owner, one.resource, one.reason) for one in now.refused]
    assert ("operator", "HeadYaw", "RELEASED") in seen


def test_only_the_newest_refusals_are_kept(make_live: MakeLive) -> None:  # noqa: F811
    live = make_live()
    ledger: Ledger = live.body.ledger
    refusals = Refusals(ledger)
    unknown = Token(epoch=1, sequence=10**6, secret=1)
    rows = take_snapshot(ledger).resources
    leaves = [row.name for row in rows if row.kind is not None][: KEPT + 3]
    for leaf in leaves:
        live.body.gate._trace.refused(unknown, leaf, Refusal.UNKNOWN)
    newest = refusals.newest()
    assert [one.resource for one in newest] == leaves[::-1][:KEPT]
    assert {one.owner for one in newest} == {"?"}
    ledger.add_owner(Owner(name="often", priority=3), ledger.tick)
    for _ in range(MAX_TOKENS + 10):
        request = Request(owner="often", resources=(leaves[0],), timeout_s=0.0)
        outcome = ledger.request(request, ledger.tick).outcome
        if outcome is not None and outcome.token is not None:
            ledger.release(outcome.token, ledger.tick)
    assert len(refusals._owners) <= MAX_TOKENS
