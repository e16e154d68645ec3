"""Groups: several resources in one request are granted together."""

import pytest

from nao_testbed.models.resources import ResourceNode
from tests.controllers.arbitration.ledger_setup import (
    ARMS,
    GRANTED,
    HEAD,
    LEGS,
    TIMED_OUT,
    LedgerSetup,
    end_of,
    node,
    outcome_of,
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("owner 1", "owner 2", "owner 3", timeout_s=5.0)
    return stage


@pytest.mark.requirement("RM-22", "AR-4")
def test_group_has_one_request_one_wait_and_one_token(stage: LedgerSetup) -> None:
    arm = stage.take("owner 1", "LHand")
    voice = stage.take("owner 2", "TTS")
    group = stage.ask("owner 3", "LHand", "TTS", timeout_s=3.0)
    stage.at(1.0)
    stage.release(arm)
    assert group.outcome is None
    stage.at(2.0)
    stage.release(voice)
    assert end_of(group) == (GRANTED, 2.0)
    token = group.token
    assert outcome_of(group).obtained == ("LHand", "TTS")
    assert stage.may(token, "LHand") is None
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-22")
def test_group_has_one_timeout(stage: LedgerSetup) -> None:
    arm = stage.take("owner 1", "LHand")
    stage.take("owner 2", "TTS")
    group = stage.ask("owner 3", "LHand", "TTS", timeout_s=3.0)
    stage.at(2.99)
    stage.release(arm)
    stage.until(3.0)
    assert end_of(group) == (TIMED_OUT, 3.0)
    assert stage.holders("LHand") == ()


@pytest.mark.requirement("RM-5")
def test_composite_includes_all_leaves_below_it(stage: LedgerSetup) -> None:
    stage.take("owner 1", "Motors")
    assert stage.held_by("owner 1") == tuple(sorted((*ARMS, *HEAD, *LEGS)))


@pytest.mark.requirement("RM-5")
def test_composite_may_contain_composites() -> None:
    def part(name: str) -> ResourceNode:
        return node(name, node(f"{name} motor"), node(f"{name} sensor"))

    parts = ("thigh", "knee", "shank", "ankle", "foot")
    stage = LedgerSetup(node("root", node("leg", *map(part, parts)), node("head")))
    stage.owners("walker", "kicker")
    stage.take("walker", "leg")
    assert len(stage.held_by("walker")) == 10
    kick = stage.ask("kicker", "ankle")
    assert kick.outcome is None
    assert stage.waited_for_by("kicker") == ("ankle motor", "ankle sensor")


@pytest.mark.requirement("RM-1", "RM-5")
def test_held_leaf_blocks_all_composites_above_it(stage: LedgerSetup) -> None:
    leaf = stage.take("owner 1", "LHand")
    arms = stage.ask("owner 2", "Arms")
    assert arms.outcome is None
    stage.at(1.0)
    stage.release(leaf)
    assert end_of(arms) == (GRANTED, 1.0)
    assert stage.held_by("owner 2") == ARMS


def test_overlapping_names_count_once(stage: LedgerSetup) -> None:
    stage.take("owner 1", "Head", "HeadYaw", "Motors")
    assert len(stage.held_by("owner 1")) == len((*ARMS, *HEAD, *LEGS))
