"""A degraded mode caps the effort of many joints and revokes nothing."""

import pytest

from nao_testbed.controllers.arbitration.events import Frozen, Revoked
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    DegradedMode,
    DegradedModes,
    energy_saving,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.arbitration.ledger_setup import LedgerSetup, outcome_of


@pytest.fixture
def stage(nao: Robot) -> LedgerSetup:
    return LedgerSetup(nao.resources)


@pytest.mark.requirement("RM-46")
def test_energy_saving_caps_joints_that_stay_usable(
    stage: LedgerSetup, nao: Robot
) -> None:
    stage.owners("wave", "look")
    token = stage.take("wave", "Left arm")
    DegradedModes(stage.ledger).enter(energy_saving(nao), 1)
    stage.at(0.01)
    assert stage.may(token, "LHand") is None
    assert outcome_of(stage.ask("look", "Head")).is_granted
    caps = [stage.ledger.effort_cap(x) for x in ("LHand", "HeadYaw", "LKneePitch")]
    assert caps == [0.2, 0.7, 0.75]
    assert not any(isinstance(event, Revoked) for event in stage.events)
    assert not any(e.is_total for e in stage.events if isinstance(e, Frozen))
    assert [hold.by for hold in stage.row("LHand").virtual] == ["energySaving"]


@pytest.mark.requirement("RM-46", "RM-45")
def test_smaller_cap_of_two_modes_applies_until_it_ends(
    stage: LedgerSetup,
) -> None:
    modes = DegradedModes(stage.ledger)
    modes.enter(DegradedMode(name="energySaving", caps={"Arms": 0.5}), 1)
    modes.enter(DegradedMode(name="quiet", caps={"All motors": 0.6, "LHand": 0.1}), 2)
    assert modes.in_force == ("energySaving", "quiet")
    assert stage.ledger.effort_cap("LHand") == 0.1
    assert stage.ledger.effort_cap("RHand") == 0.5
    modes.leave("energySaving", 3)
    assert stage.ledger.effort_cap("RHand") == 0.6
    modes.leave("quiet", 4)
    assert not any(row.virtual for row in stage.picture())


def test_mode_entered_again_replaces_its_caps(stage: LedgerSetup) -> None:
    modes = DegradedModes(stage.ledger)
    modes.enter(DegradedMode(name="quiet", caps={"Arms": 0.5}), 1)
    modes.enter(DegradedMode(name="quiet", caps={"Legs": 0.4}), 2)
    assert stage.ledger.effort_cap("LHand") == 1.0
    assert stage.ledger.effort_cap("LKneePitch") == 0.4


@pytest.mark.requirement("RM-45")
def test_mode_stays_in_force_if_the_ledger_rejects_its_end(
    stage: LedgerSetup, nao: Robot
) -> None:
    modes = DegradedModes(stage.ledger)
    modes.enter(energy_saving(nao), 5)
    with pytest.raises(BadInput, match="a tick must not decrease"):
        modes.leave("energySaving", 1)
    assert modes.in_force == ("energySaving",)
    assert stage.ledger.effort_cap("LHand") == 0.2
    modes.leave("energySaving", 6)
    assert stage.ledger.effort_cap("LHand") == 1.0


def test_invalid_modes_change_nothing(stage: LedgerSetup) -> None:
    modes = DegradedModes(stage.ledger)
    before = stage.picture()
    with pytest.raises(UnknownName, match="Did you mean 'Arms'"):
        modes.enter(DegradedMode(name="quiet", caps={"Head": 0.5, "Amrs": 0.5}), 1)
    stage.owner("quiet")  # an owner name, not a mode
    with pytest.raises(UnknownName, match="'quiet'"):
        modes.leave("quiet", 1)
    with pytest.raises(BadInput, match=r"at 1\.5"):
        DegradedMode(name="quiet", caps={"Arms": 1.5})
    with pytest.raises(BadInput, match="caps nothing"):
        DegradedMode(name="quiet", caps={})
    assert stage.picture() == before
    assert modes.in_force == ()
