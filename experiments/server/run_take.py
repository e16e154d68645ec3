"""Commands `resources list` and `resources take`.

`list_lines` prints the tree with owners and waiters; each line has the name, an arrow,
the owner and its mode, and the waiters with their number. `run_take` waits, prints the
token, holds it until the requested time has passed or the token is lost, and releases
it.
"""

import getpass
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nao_testbed.controllers.arbitration.tokens import NoticeKind, Outcome
from nao_testbed.experiments.common.options import STDOUT, json_text, write_json
from nao_testbed.experiments.common.signals import temporary_stop_handlers
from nao_testbed.experiments.server.client import Client
from nao_testbed.experiments.server.messages import (
    HoldingData,
    NoticeData,
    RowData,
    SnapshotData,
)
from nao_testbed.models import BadInput
from nao_testbed.models.values import number_of, printable


def list_lines(snapshot: SnapshotData, *, only_busy: bool = False) -> Iterator[str]:
    """Yield the lines of the list, from the top of the tree down.

    Args:
        snapshot: snapshot from the server.
        only_busy: omit resources without holders and waiters, except parents of others.
    """
    rows = snapshot.resources
    if only_busy:
        kept = _with_parents(rows)
        rows = tuple(row for row in rows if row.name in kept)
    width = max((2 * row.depth + len(row.name) for row in rows), default=0)
    for row in rows:
        yield _line(row, width)


def _line(row: RowData, width: int) -> str:
    name = "  " * row.depth + row.name
    parts = []
    if row.is_active:
        parts.append("(Activated)")
    if row.used_percent is not None:
        parts.append(f"{row.used_percent:g} % used")
    owners = [f"{v.by} ({_effect(v.is_total, v.effort_cap)})" for v in row.virtual]
    owners += [_holder(row, holding) for holding in row.holders]
    if owners:
        parts.append("-> " + ", ".join(owners))
    # The waiters of a free composite are listed at its parts.
    if row.waiters and (owners or row.kind is not None):
        names = [w.owner + (" (paused)" if w.is_paused else "") for w in row.waiters]
        parts.append(f"Waiter: {', '.join(names)}  {len(row.waiters)}")
    return printable(f"{name:<{width}}  {'  '.join(parts)}".rstrip())


def _holder(row: RowData, holding: HoldingData) -> str:
    share = "" if row.used_percent is None else f" {holding.share_percent:g} %"
    return f"{holding.owner} ({'lent' if holding.is_lent else 'use'}{share})"


def _effect(is_total: bool, effort_cap: float | None) -> str:
    cap = "" if effort_cap is None else f"effort at most {effort_cap:g}"
    return ", ".join(filter(None, ["unavailable" if is_total else "", cap]))


def _with_parents(rows: tuple[RowData, ...]) -> set[str]:
    parents = {row.name: row.parent for row in rows}
    kept: set[str] = set()
    for row in rows:
        if row.holders or row.waiters or row.virtual or row.is_active:
            name: str | None = row.name
            while name is not None and name not in kept:
                kept.add(name)
                name = parents[name]
    return kept


LOOK_S = 0.1
"""Period in s at which a held token is checked."""


@dataclass(frozen=True, kw_only=True)
class TakeCfg:
    """Arguments of the command."""

    url: str
    secret: str | None
    owner: str | None
    names: tuple[str, ...]
    optional: tuple[str, ...]
    rates: tuple[str, ...]
    timeout_s: float
    hold_s: float | None
    priority: int
    policy: str
    time_to_live_s: float
    json_file: str | None = None
    """Path for `write_json`, written once the outcome is known."""


def run_take(cfg: TakeCfg) -> int:
    """Take, hold and release; return the exit status.

    Raises:
        BadInput: an option is invalid, or a resource is unknown to the server.
        TestbedError: no server answers, or it refuses.
    """
    if cfg.hold_s is not None and not 0.0 <= cfg.hold_s < float("inf"):
        raise BadInput(f"--for is {cfg.hold_s} s; give a number from 0.")
    rates = _rates(cfg.rates)
    holder = _Holder()
    client = Client(
        cfg.url,
        f"{_user()}-{os.getpid()}" if cfg.owner is None else cfg.owner,
        secret=cfg.secret,
        policy=cfg.policy,
        priority=cfg.priority,
        time_to_live_s=cfg.time_to_live_s,
        on_notice=holder.on_notice,
    )
    try:
        with temporary_stop_handlers(), client:
            _print_status(f"{client.name} is waiting, at most {cfg.timeout_s:g} s ...")
            outcome = client.take(
                *cfg.names,
                optional=cfg.optional,
                rates=rates,
                timeout_s=cfg.timeout_s,
            )
            data = json_text(_as_json(client.name, outcome))
            write_json(cfg.json_file, data, holds_token=True)
            if outcome.token is None:
                print(f"error: {_refusal_text(outcome)}", file=sys.stderr)
                return 1
            holder.has_begun = True
            if cfg.json_file != STDOUT:
                print(outcome.token.as_text(), flush=True)
            _print_status(f"{client.name} holds {', '.join(outcome.obtained)}")
            if outcome.missing:
                print(f"not free: {', '.join(outcome.missing)}", file=sys.stderr)
            return holder.hold(client, outcome, cfg.hold_s)
    except KeyboardInterrupt:
        return 0 if holder.has_begun else 1


class _Holder:
    """Holder of a token until the requested time has passed or the token ends."""

    def __init__(self) -> None:
        self.has_begun = False
        self._ended = threading.Event()
        self._released = False
        self._loss: NoticeData | None = None

    def on_notice(self, notice: NoticeData) -> None:
        """Process a notice, in a thread of the client."""
        if notice.kind is NoticeKind.LOST:
            self._loss = notice
        self._released |= notice.kind == "released" and notice.has_ended
        if notice.has_ended:
            self._ended.set()

    def hold(self, client: Client, outcome: Outcome, hold_s: float | None) -> int:
        """Wait; return the exit status."""
        token = outcome.token
        assert token is not None
        end_s = math.inf if hold_s is None else time.monotonic() + hold_s
        while client.holds(token) and (left_s := end_s - time.monotonic()) > 0.0:
            self._ended.wait(min(LOOK_S, left_s))
        if client.holds(token):
            client.release(token)
            return 0
        self._ended.wait(LOOK_S)  # the notice may arrive shortly
        if self._released:
            _print_status("released")
            return 0
        print(f"error: lost: {self._loss_text(client)}", file=sys.stderr)
        return 1

    def _loss_text(self, client: Client) -> str:
        loss = self._loss
        if loss is not None:
            leaves = ", ".join((*loss.leaves, *loss.freed))
            return f"{leaves} ({loss.why}, by {loss.by})"
        return str(client.why_lost or "the server ended it")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may lack user names
        return "user"


def _rates(texts: tuple[str, ...]) -> dict[str, float]:
    rates: dict[str, float] = {}
    for text in texts:
        name, equals, percent = text.rpartition("=")
        try:
            rates[name] = number_of(percent)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise BadInput(
                f"--rate {text!r} is not of the form NAME=PERCENT, such as CPU=10."
            )
    return rates


def _as_json(owner: str, outcome: Outcome) -> dict[str, Any]:
    """Return the data for `--json`, with the complete token for `release`."""
    return {
        "experiment": "resources take",
        "owner": owner,
        "outcome": outcome.kind,
        "why": outcome.why,
        "token": outcome.token.as_text() if outcome.token else None,
        "resources": outcome.obtained,
        "missing": outcome.missing,
        "blockers": {one.resource: list(one.owners) for one in outcome.blockers},
    }


def _refusal_text(outcome: Outcome) -> str:
    ways = [f"{b.resource}: {', '.join(b.owners)}" for b in outcome.blockers]
    text = f"{outcome.kind}, {outcome.why}" + (f" ({'; '.join(ways)})" if ways else "")
    return printable(text)


def _print_status(text: str) -> None:
    """Print a message in a terminal; print nothing to a pipe."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)
