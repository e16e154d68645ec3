"""Posture belief: from sent motions and from the observed state."""

from collections.abc import Callable

import pytest

from nao_testbed.controllers.transmitter.commands.posture import PostureBelief
from nao_testbed.controllers.transmitter.receipt import EndReason, Receipt, StreamState

STATES = {"Stand": "Stand", "StandInit": "Stand", "Sit": "Sit", "Gorilla": None}


def move(reason: EndReason | None, started: int | None = 3) -> Receipt:
    state = StreamState.ENDED if reason else StreamState.RUNNING
    return Receipt(
        number=1, received_tick=1, state=state, reason=reason, started_tick=started
    )


class Eyes:
    """Observed state, set by the test."""

    def __init__(self, state: str | None) -> None:
        self.state = state

    def __call__(self) -> str | None:
        return self.state


@pytest.fixture
def belief_in() -> Callable[[str | None, Eyes], PostureBelief]:
    return lambda posture, eyes: PostureBelief(posture, STATES, eyes)


@pytest.mark.parametrize(
    ("reason", "started", "posture"),
    [
        (EndReason.DONE, 3, "Stand"),
        (EndReason.REVOKED, 3, None),
        (EndReason.DELETED, None, "Sit"),
        (None, 3, None),
    ],
)
def test_complete_motion_sets_its_end_posture(
    reason: EndReason | None, started: int | None, posture: str | None
) -> None:
    belief = PostureBelief("Sit")
    belief.follow(move(reason, started), "Stand")
    assert belief.posture == posture


def test_observed_state_overrides_the_belief(
    belief_in: Callable[[str | None, Eyes], PostureBelief],
) -> None:
    eyes = Eyes("Stand")
    belief = belief_in("Stand", eyes)
    eyes.state = None
    assert belief.posture == "Stand", "no state: in transition or swaying"
    eyes.state = "Back"
    assert belief.posture != "Stand"
    belief.set_posture("LyingBack")
    assert belief.posture == "LyingBack"


def test_state_not_observed_yet_does_not_contradict(
    belief_in: Callable[[str | None, Eyes], PostureBelief],
) -> None:
    """The monitor needs some tenths of a second to confirm a state."""
    eyes = Eyes("Sit")
    belief = belief_in("Sit", eyes)
    belief.follow(move(EndReason.DONE), "StandInit")
    assert belief.posture == "StandInit"
    for state in ("Sit", None, "Stand"):
        eyes.state = state
        assert belief.posture == "StandInit"
    eyes.state = "Sit"
    assert belief.posture is None, "a later observation contradicts"


def test_posture_without_a_state_matches_any(
    belief_in: Callable[[str | None, Eyes], PostureBelief],
) -> None:
    eyes = Eyes(None)
    belief = belief_in("Gorilla", eyes)
    eyes.state = "Belly"
    assert belief.posture == "Gorilla"
