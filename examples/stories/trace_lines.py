"""Event trace in words, for lessons, without events that change nothing."""

from collections.abc import Iterable, Iterator

from nao_testbed.controllers.arbitration.events import (
    Event,
    Failed,
    Frozen,
    Granted,
    MadeSafe,
    Rejected,
    Released,
    Requested,
    Revoked,
    StateChanged,
    StateRefused,
    Thawed,
)

LONGEST_LIST = 4
"""Largest number of listed names; further ones are counted."""


def story_lines(events: Iterable[Event], tick_s: float) -> Iterator[str]:
    """Yield one line per event that changes something, with its time in s in front."""
    for event in events:
        text = _in_words(event)
        if text:
            yield f"{event.tick * tick_s:8.2f} s  {text}"


def _in_words(event: Event) -> str:  # noqa: PLR0911 # one return a kind is the table
    match event:
        case Requested(owner=owner, shares=shares):
            return f"{owner} requests {_names(shares)}"
        case Granted(owner=owner, token=token):
            return f"{owner} gets token {token}"
        case Failed(owner=owner, kind=kind, why=why):
            return f"{owner}: {kind} ({why})"
        case Released(owner=owner, leaves=leaves):
            return f"{owner} releases {_names(leaves)}"
        case Revoked(owner=owner, token=token, why=why, by=by, lost=lost, freed=freed):
            rest = f", and {_names(freed)} with it" if freed else ""
            return f"{owner} loses {_names(lost)}{rest}: {why} (by {by}), token {token}"
        case Frozen(by=by, leaves=leaves, effort_cap=cap, is_total=is_total):
            how = "freezes" if is_total else "caps"
            at_most = "" if cap is None else f", stiffness at most {cap:g}"
            return f"{by} {how} {_names(leaves)}{at_most}"
        case Thawed(by=by, leaves=leaves):
            return f"{by} releases {_names(leaves)}"
        case Rejected(token=token, resource=resource, reason=reason):
            return f"gate rejects {resource} with token {token or 'none'}: {reason}"
        case MadeSafe(leaves=leaves):
            return f"gate holds {_names(leaves)} where it is"
        case StateChanged(active=active):
            return (
                f"the robot is in state {active}"
                if active
                else "the robot is in no state"
            )
        case StateRefused(wanted=wanted, holders=holders):
            to = f" for {wanted}" if wanted else ""
            return f"{_names(holders)} refuse to leave the state{to}"
        case _:
            return ""


def _names(names: Iterable[str]) -> str:
    every = sorted(names)
    shown = ", ".join(every[:LONGEST_LIST])
    more = len(every) - LONGEST_LIST
    return f"{shown} and {more} more" if more > 0 else shown
