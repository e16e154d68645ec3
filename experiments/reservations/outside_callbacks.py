"""Callbacks of holders, run in threads of their own (RM-33, RM-36).

The ledger asks a policy and needs its answer at once. A user's function may take long
or never return. So the ledger is told KEEP while the function runs, and asked to demand
again when it has come back, or when the policy's limit is over: then the holder gives
way whatever its function does.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeVar

from controllers.resources.owner import Owner
from controllers.resources.policies import (
    KEEP,
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
)
from controllers.resources.request import Request
from controllers.resources.tokens import TokenId

_LOG = logging.getLogger(__name__)
_NOW = Answer(kind=AnswerKind.YIELD)


_Told = TypeVar("_Told")


def _in_thread(hook: Callable[[_Told], None] | None) -> Callable[[_Told], None] | None:
    """Return what starts a thread that calls a hook, and returns at once."""
    if hook is None:
        return None
    call = partial(_logged, hook)

    def start(told: _Told) -> None:
        threading.Thread(target=call, args=[told], name="hook", daemon=True).start()

    return start


def _logged(hook: Callable[[_Told], None], told: _Told) -> None:
    try:
        hook(told)
    except Exception:  # noqa: BLE001  # a user's function raises anything
        _LOG.exception("a hook of an owner raised at %s", told)


class _Call:
    """A function at work for one demand."""

    def __init__(self, demand: Demand, began_s: float) -> None:
        """Note who asked, and when."""
        self.demand = demand
        self.began_s = began_s
        self.is_done = False
        self.answer: Answer | None = None
        self.error: Exception | None = None

    def is_for(self, demand: Demand) -> bool:
        """Whether a later demand is the same asker's for the same request."""
        mine = self.demand
        return (mine.request, mine.asker) == (demand.request, demand.asker)


@dataclass(frozen=True)
class _Outside:
    """Stands in the ledger for a holder's callback."""

    name: ClassVar[str] = "callback"

    policy: CallbackOnDemand
    desk: "OutsideCallbacks"

    def answer(self, demand: Demand) -> Answer:
        """Say what the function said, or KEEP while it runs."""
        return self.desk.answer(self.policy, demand)


class OutsideCallbacks:
    """Runs callbacks, one at a time for each token, and remembers what they said."""

    def __init__(
        self, clock: Callable[[], float], demand_again: Callable[[int], None]
    ) -> None:
        """Begin with none at work.

        Args:
            clock: seconds.
            demand_again: lets the ledger repeat the demand of a request.
        """
        self._clock = clock
        self._demand_again = demand_again
        self._lock = threading.Lock()
        self._calls: dict[TokenId, _Call] = {}

    def of_owner(self, owner: Owner) -> Owner:
        """Return an owner whose functions, if it has any, run outside."""
        policy = owner.policy
        if isinstance(policy, CallbackOnDemand):
            owner = replace(owner, policy=_Outside(policy, self))
        if owner.on_stop is not None or owner.on_lost is not None:
            owner = replace(
                owner,
                on_stop=_in_thread(owner.on_stop),
                on_lost=_in_thread(owner.on_lost),
            )
        return owner

    def of_request(self, request: Request) -> Request:
        """Return a request whose callback, if it has one, runs outside."""
        policy = request.policy
        if not isinstance(policy, CallbackOnDemand):
            return request
        return replace(request, policy=_Outside(policy, self))

    def answer(self, policy: CallbackOnDemand, demand: Demand) -> Answer:
        """Answer a demand at once.

        What the function raised is raised here, so that the ledger's trace shows it.
        """
        with self._lock:
            call = self._calls.get(demand.token)
            if call is None or (call.is_done and not call.is_for(demand)):
                self._start(policy, demand)
                return KEEP
            spent_s = self._clock() - call.began_s
            limit_s = policy.limit_s
            if not call.is_done:
                is_over = limit_s is not None and spent_s >= limit_s
                return _NOW if is_over else KEEP
            del self._calls[demand.token]
        if call.error is not None:
            raise call.error
        if call.answer is not None:
            return call.answer
        if limit_s is None:
            return KEEP
        return Answer(kind=AnswerKind.YIELD, after_s=max(0.0, limit_s - spent_s))

    def _start(self, policy: CallbackOnDemand, demand: Demand) -> None:
        call = _Call(demand, self._clock())
        self._calls[demand.token] = call
        watch = None
        if policy.limit_s is not None:
            watch = threading.Timer(policy.limit_s, self._tell, [demand])
            watch.daemon = True
            watch.start()
        threading.Thread(
            target=self._run,
            args=(policy, call, watch),
            name=f"callback-{demand.holder}",
            daemon=True,
        ).start()

    def _run(
        self, policy: CallbackOnDemand, call: _Call, watch: threading.Timer | None
    ) -> None:
        try:
            call.answer = policy.function(call.demand)
        except Exception as error:  # noqa: BLE001  # a user's function raises anything
            call.error = error
        except SystemExit as error:  # it must not keep the holder for ever either
            call.error = RuntimeError(f"the callback ended its thread: {error!r}")
        if watch is not None:
            watch.cancel()
        with self._lock:
            call.is_done = True
        self._tell(call.demand)
        with self._lock:  # the asker did not wait for it
            if call.demand.request is not None:
                self._drop(call)

    def _drop(self, call: _Call) -> None:
        if self._calls.get(call.demand.token) is call:
            del self._calls[call.demand.token]

    def _tell(self, demand: Demand) -> None:
        if demand.request is not None:
            self._demand_again(demand.request)
