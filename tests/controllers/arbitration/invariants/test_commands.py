"""The judges of the gate: a refusal has one right reason, a command one answer."""

import pytest

from nao_testbed.controllers.arbitration.invariants import check
from nao_testbed.controllers.arbitration.tokens import Refusal
from tests.controllers.arbitration.invariants.written_traces import Trace, broken

TOKENS = (
    "ann takes HeadYaw,LHand loss=partial.",
    "ann takes HeadPitch.",
    "bob takes CPU:1.",
    "bob drops 3 CPU; body shows Stand.",
    "bob takes Stand.",
    "State revokes 4 Stand why=state_left; body shows -.",
    "cat takes CPU:1.",
    "cat crashes; cat expires 5 CPU.",
    "hot revokes 1 LHand why=frozen whole=no; hot freezes LHand.",
    "kid takes HeadPitch inside=2.",
)
"""In every condition: 1 held, 2 lent, 3 released, 4 revoked, 5 expired."""
REASONS = (
    ("- HeadYaw", Refusal.NO_TOKEN),
    ("1 HeadYaw genuine=no", Refusal.UNKNOWN),
    ("99 HeadYaw", Refusal.UNKNOWN),
    ("3 CPU", Refusal.RELEASED),
    ("4 Stand", Refusal.REVOKED),
    ("5 CPU", Refusal.EXPIRED),
    ("1 LHand", Refusal.FROZEN),
    ("1 HeadPitch", Refusal.NOT_COVERED),
    ("2 HeadPitch", Refusal.NOT_COVERED),
    ("2 HeadYaw shift=yes", Refusal.NOT_COVERED),
)


@pytest.mark.parametrize(("command", "reason"), REASONS)
@pytest.mark.requirement("I-14")
def test_each_refusal_has_one_right_reason(command: str, reason: Refusal) -> None:
    trace = Trace(*TOKENS)
    for number, other in enumerate(Refusal, start=1):
        token, leaf, *_ = command.split()
        trace.tell(f"gate receives {number} {command}")
        trace.tell(f"gate refuses {number} {token} {leaf} {other}")
    wrong = [v.sentence for v in check(trace.events) if v.invariant == "I-15"]
    assert len(wrong) == len(check(trace.events)) == len(Refusal) - 1
    assert all(sentence.endswith(f"the reason is {reason}") for sentence in wrong)


@pytest.mark.parametrize(("command", "reason"), REASONS)
def test_what_must_be_refused_is_not_written(command: str, reason: Refusal) -> None:
    is_forged = reason is Refusal.NO_TOKEN or "genuine=no" in command
    command = command.replace("-", "98 genuine=no")  # a write has a token, if no issued
    token, leaf, *_ = (word for word in command.split() if "genuine" not in word)
    found = broken(
        *TOKENS, f"gate receives 1 {command}", f"gate writes 1 {token} {leaf}"
    )
    expected = "I-22" if reason is Refusal.FROZEN else "I-11"
    assert found == {
        "I-13" if is_forged else "I-14" if "shift" in command else expected
    }


GATE = (
    ("", "receives 1 1 HeadYaw", "writes 1 1 HeadYaw"),
    ("I-15", "receives 1 1 HeadYaw", "refuses 1 1 HeadYaw REVOKED"),
    ("I-14", "writes 1 1 HeadYaw"),
    ("I-14", "receives 1 1 HeadYaw", "writes 1 1 HeadYaw", "writes 1 1 HeadYaw"),
    (
        "I-14",
        "receives 1 99 HeadYaw genuine=no",
        "refuses 1 99 HeadYaw UNKNOWN",
        "writes 1 1 HeadYaw",
    ),
    ("I-14", "receives 1 1 HeadYaw", "writes 1 6 HeadPitch"),
    ("I-14", "receives 2 1 HeadYaw", "receives 2 1 HeadYaw"),
)


@pytest.mark.parametrize(("found", "steps"), [(first, rest) for first, *rest in GATE])
def test_a_command_is_answered_once_and_as_it_was_given(
    found: str, steps: list[str]
) -> None:
    expected = {found} - {""}
    assert broken(*TOKENS, *(f"gate {step}" for step in steps)) == expected


@pytest.mark.parametrize("reason", [Refusal.WRONG_EPOCH, Refusal.UNKNOWN])
def test_a_token_of_an_earlier_epoch_is_of_the_wrong_epoch(reason: Refusal) -> None:
    trace = Trace(*TOKENS, "open 2")
    trace.epoch = 1
    trace.tell(
        "gate receives 1 1 HeadYaw genuine=no", f"gate refuses 1 1 HeadYaw {reason}"
    )
    found = {violation.invariant for violation in check(trace.events)}
    assert found == (set() if reason is Refusal.WRONG_EPOCH else {"I-15"})
