"""A virtual owner occupies exactly the leaves that its cause requests."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.events import Frozen, Settled, Thawed
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    Occupation,
    VirtualOwner,
)
from nao_testbed.models import BadInput, UnknownName
from tests.controllers.arbitration.ledger_setup import ARMS, HEAD, LedgerSetup

WHOLE = Occupation(effort_cap=0.0, is_total=True)
WEAK = Occupation(effort_cap=0.5, is_total=False)
WANTED = st.dictionaries(
    st.sampled_from((*ARMS, *HEAD)), st.sampled_from((WHOLE, WEAK)), max_size=4
)


@pytest.mark.requirement("RM-40", "RM-45")
@given(turns=st.lists(WANTED, max_size=8))
def test_ledger_shows_exactly_the_requested_occupation(
    turns: list[dict[str, Occupation]],
) -> None:
    """Each turn emits events for changed leaves only."""
    stage = LedgerSetup()
    owner = VirtualOwner(stage.ledger, "cause")
    for tick, wanted in enumerate(turns):
        owner.occupy(wanted, tick)
        shown = {
            row.name: Occupation(effort_cap=hold.effort_cap, is_total=hold.is_total)
            for row in stage.picture()
            for hold in row.virtual
        }
        assert shown == wanted == owner.occupied
    told: dict[int, list[str]] = {}
    for event in stage.events:
        if isinstance(event, Frozen | Thawed):
            told.setdefault(event.tick, []).extend(event.leaves)
    changed = {}
    for tick, (before, after) in enumerate(pairwise([{}, *turns])):
        both = sorted(before | after)
        changed[tick] = [x for x in both if before.get(x) != after.get(x)]
    assert {tick: sorted(leaves) for tick, leaves in told.items()} == {
        tick: leaves for tick, leaves in changed.items() if leaves
    }


@pytest.mark.requirement("RM-45")
def test_new_leaves_are_frozen_before_old_ones_are_thawed() -> None:
    stage = LedgerSetup()
    owner = VirtualOwner(stage.ledger, "cause")
    owner.occupy({"LHand": WHOLE}, 1)
    owner.occupy({"RHand": WHOLE}, 2)
    changes = [
        e for e in stage.events if isinstance(e, Frozen | Thawed) and e.tick == 2
    ]
    assert [type(event) for event in changes] == [Frozen, Thawed]


@pytest.mark.requirement("RM-45", "RM-65")
def test_occupation_rejected_by_the_ledger_is_repeated() -> None:
    """At a past tick nothing is frozen or thawed, nor recorded as such."""
    stage = LedgerSetup()
    owner = VirtualOwner(stage.ledger, "cause")
    owner.occupy({"LHand": WHOLE, "HeadYaw": WHOLE}, 5)
    wanted = {"RHand": WHOLE, "HeadYaw": WEAK}
    for ended in (wanted, {}):
        with pytest.raises(BadInput, match="a tick must not decrease"):
            owner.occupy(ended, 1)
        assert dict(owner.occupied) == {"LHand": WHOLE, "HeadYaw": WHOLE}
    owner.occupy(wanted, 6)
    assert dict(owner.occupied) == wanted
    assert stage.ledger.effort_cap("HeadYaw") == 0.5
    assert {row.name for row in stage.picture() if row.virtual} == set(wanted)


@pytest.mark.requirement("RM-45")
def test_removed_leaf_does_not_affect_other_leaves() -> None:
    """Rejected, then removed; then other leaves are requested."""
    stage = LedgerSetup()
    owner = VirtualOwner(stage.ledger, "cause")
    stage.until(0.05)
    with pytest.raises(BadInput, match="a tick must not decrease"):
        owner.occupy({"TTS": WHOLE}, 1)
    stage.ledger.remove_resource("TTS", 6)
    owner.occupy({"LHand": WHOLE}, 7)
    owner.occupy({}, 8)
    assert not any(row.virtual for row in stage.picture())


def test_unknown_part_changes_nothing() -> None:
    stage = LedgerSetup()
    owner = VirtualOwner(stage.ledger, "cause")
    owner.occupy({"LHand": WHOLE}, 1)
    calls = len([e for e in stage.events if isinstance(e, Settled)])
    with pytest.raises(UnknownName, match="Did you mean 'RHand'"):
        owner.occupy({"HeadYaw": WHOLE, "RHnad": WEAK}, 2)
    assert dict(owner.occupied) == {"LHand": WHOLE}
    assert stage.ledger.effort_cap("HeadYaw") == 1.0
    assert len([e for e in stage.events if isinstance(e, Settled)]) == calls
