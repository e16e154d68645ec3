"""Small setting of the random tests: a tree, owners, and misbehaving policies.

A test policy is named by a string, so that a history is plain data; its callback calls
the ledger that asked it. Token secrets follow from their numbers.
"""

from collections.abc import Callable

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    ConflictPolicy,
    Demand,
    Lock,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import Request
from nao_testbed.controllers.arbitration.tokens import Token, TokenId
from nao_testbed.models.resources import Device, DeviceKind, ResourceKind, ResourceNode

EXCLUSIVE = ("A1", "A2", "H", "L")
GROUP = "Pose"
STATES = ("Back", "Sit", "Stand")
TREE = ResourceNode(
    name="Robot",
    children=(
        ResourceNode(
            name="Upper",
            children=(
                ResourceNode(
                    name="Arm",
                    children=(ResourceNode(name="A1"), ResourceNode(name="A2")),
                ),
                ResourceNode(name="H"),
            ),
        ),
        ResourceNode(name="L", device=Device(kind=DeviceKind.LEDS, names=("Face",))),
        ResourceNode(
            name=GROUP,
            children=tuple(
                ResourceNode(name=state, kind=ResourceKind.STATE) for state in STATES
            ),
        ),
        ResourceNode(name="CPU", kind=ResourceKind.CUMULATIVE),
    ),
)
"""Four exclusive leaves under nested composites, one of them an LED; three states, one
rate."""

PARENTS = {
    "boss": None,
    "kid": "boss",
    "tot": "kid",
    "twin": "boss",
    "loner": None,
    "rival": None,
}
"""Owner to its parent; parents come first."""


EPOCH = 1


def secret_of(sequence: int) -> int:
    """Return the secret of the token with this number."""
    return (sequence * 0x9E37_79B9_7F4A_7C15) % 2**64


Callback = Callable[[Ledger, Demand], Answer | None]


def whole(token: TokenId) -> Token:
    """Return a full token from its public part."""
    return Token(token.epoch, token.sequence, secret_of(token.sequence))


def _release(ledger: Ledger, demand: Demand) -> None:
    ledger.release(whole(demand.token), demand.tick)


def _release_some(ledger: Ledger, demand: Demand) -> None:
    ledger.release(whole(demand.token), demand.tick, demand.resources[:1])


def _release_twice(ledger: Ledger, demand: Demand) -> None:
    _release(ledger, demand)
    _release(ledger, demand)


def _release_and_promise(ledger: Ledger, demand: Demand) -> Answer:
    _release(ledger, demand)
    return Answer(kind=AnswerKind.PAUSE)


def _raise(ledger: Ledger, demand: Demand) -> None:
    raise RuntimeError("user code")


def _return_none(ledger: Ledger, demand: Demand) -> None:
    return None


def _ask_again(ledger: Ledger, demand: Demand) -> None:
    ledger.request(
        Request(owner=demand.holder, resources=demand.resources, timeout_s=2.0),
        demand.tick,
    )


def _ask_more(ledger: Ledger, demand: Demand) -> Answer:
    ledger.request(
        Request(owner=demand.holder, resources=("L",), timeout_s=3.0), demand.tick
    )
    return Answer(kind=AnswerKind.YIELD)


def _drop_itself(ledger: Ledger, demand: Demand) -> None:
    ledger.drop(demand.holder, demand.tick)


def _drop_the_requester(ledger: Ledger, demand: Demand) -> Answer:
    if demand.asker in PARENTS:
        ledger.drop(demand.asker, demand.tick)
    return Answer(kind=AnswerKind.YIELD)


def _withdraw_the_request(ledger: Ledger, demand: Demand) -> Answer:
    if demand.request is not None:
        ledger.withdraw(demand.request, demand.tick)
    return Answer(kind=AnswerKind.YIELD)


def _notify_again(ledger: Ledger, demand: Demand) -> Answer:
    """Notify the blocking holders again while a demand is being answered."""
    if demand.request is not None:
        ledger.notify_blockers(demand.request, demand.tick)
    return Answer(kind=AnswerKind.YIELD, after_s=1.0)


def _return_invalid_answer(ledger: Ledger, demand: Demand) -> Answer:
    return "yes"  # type: ignore[return-value]  # user code may


_CALLBACKS: dict[str, tuple[Callback, float | None]] = {
    "releases": (_release, None),
    "releases some": (_release_some, None),
    "releases twice": (_release_twice, None),
    "releases and promises": (_release_and_promise, None),
    "raises": (_raise, None),
    "never answers": (_return_none, None),
    "answers too late": (_return_none, 2.0),
    "asks again": (_ask_again, None),
    "asks more": (_ask_more, None),
    "dies": (_drop_itself, None),
    "kills the asker": (_drop_the_requester, None),
    "withdraws the asker": (_withdraw_the_request, None),
    "presses": (_notify_again, None),
    "talks nonsense": (_return_invalid_answer, None),
}
_READY: dict[str, ConflictPolicy] = {
    "lock": Lock(),
    "stop": StopOnDemand(),
    "stop within 2": StopOnDemand(within_s=2.0),
    "pause": PauseOnDemand(),
    "pause within 1": PauseOnDemand(within_s=1.0),
    "pause at most 3": PauseOnDemand(resume_timeout_s=3.0),
}
POLICIES = (*_READY, *_CALLBACKS)


def make_policy(word: str, ledger: Ledger) -> ConflictPolicy:
    """Return the policy of this name, calling back `ledger`."""
    if word in _READY:
        return _READY[word]
    callback, limit_s = _CALLBACKS[word]
    return CallbackOnDemand(lambda demand: callback(ledger, demand), limit_s)
