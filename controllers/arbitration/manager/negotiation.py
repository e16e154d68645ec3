"""Demands to holders: for waiting requests, and for changes of the robot's state.

Holders are notified of the requester, and their policies answer. A promise is enforced
only if the requester can then start, so that no holder releases in vain. The manager
never blocks: a promise with a delay becomes a timer.
"""

from collections.abc import Callable, Sequence
from functools import partial

from nao_testbed.controllers.arbitration.events import Answered
from nao_testbed.controllers.arbitration.manager.granting import Granting
from nao_testbed.controllers.arbitration.manager.state.holdings import (
    innermost_first,
)
from nao_testbed.controllers.arbitration.manager.state.leaves import StateLeaf
from nao_testbed.controllers.arbitration.manager.state.records import (
    Leaf,
    Reservation,
    Waiting,
    Yielding,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.state.timers import Due
from nao_testbed.controllers.arbitration.policies import (
    KEEP,
    Answer,
    AnswerKind,
    ConflictPolicy,
    Demand,
    checked,
)
from nao_testbed.controllers.arbitration.tokens import NoticeKind
from nao_testbed.models.errors import error_text


class Negotiation:
    """Negotiation with holders, and grants after sufficient answers."""

    def __init__(self, granting: Granting) -> None:
        self.ask_policy: Callable[[ConflictPolicy, Demand], object] = (
            lambda policy, demand: policy.answer(demand)
        )
        """Function that returns a policy's answer without waiting."""
        self._granting = granting
        self._queue = granting.queue
        self._timers = self._queue.timers
        self._trace = self._queue.trace

    def repeat(self, waiting: Waiting) -> None:
        """Repeat the demands in each retry period while the request waits."""
        own_s, cfg = waiting.terms.retry_s, self._queue.cfg
        tick = self._timers.now + cfg.period(cfg.retry_s if own_s is None else own_s)
        again = partial(self._again, waiting)
        self._timers.at(tick, Due.RETRY, again, waiting=waiting)

    def demand(self, waiting: Waiting, *, arrives: bool = False) -> None:
        """Without a pending promise, demand from blocking holders; grant if all yield.

        An owner gets no demand from its own request, except the recall of lent leaves.
        Policies may call the ledger, so the state is read again after each answer.
        """
        granting = self._granting
        answers: dict[Reservation, Answer] = {}
        for holder, leaves in _blocking_holders(waiting).items():
            if not _may_be_demanded(waiting):
                return
            still = [leaf for leaf in leaves if leaf in holder.shares]
            is_due = waiting.recalls and granting.may_recall(waiting, holder)
            if still and (is_due or holder.owner is not waiting.owner):
                answers[holder] = self._ask(
                    holder,
                    still,
                    waiting.owner.name,
                    waiting.priority,
                    waiting.ticket.number,
                    is_due=is_due,
                )
        if not _may_be_demanded(waiting):
            return
        yielding = granting.way_clear(waiting, answers, arrives=arrives)
        if yielding is None:
            return
        promised = [
            holder
            for holder in yielding
            if not granting.overrides(waiting, holder, arrives=arrives)
        ]
        delay_s = max((answers[holder].after_s for holder in promised), default=0.0)
        delay, now = self._queue.cfg.ticks(delay_s), self._timers.now
        if delay == 0:
            granting.commit(waiting, yielding, answers, arrives=arrives)
        elif waiting.deadline and now + delay < waiting.deadline:
            asked = {holder: yielding[holder] for holder in promised}
            self._wait_for(waiting, asked, answers, now + delay)

    def ask_holders(
        self, left: StateLeaf, asker: str, is_wanted: Callable[[], bool]
    ) -> bool:
        """Ask the holders of the active state to release it.

        All are notified; an answer with a delay counts as a refusal. `is_wanted`
        returns True if the change is still wanted after their answers.

        Returns:
            True if all holders released it.
        """
        answers: dict[Reservation, Answer] = {}
        for holder in left.seated():
            if left in holder.shares:
                answers[holder] = self._ask(holder, [left], asker, 0, None)
        still = [holder for holder in left.seated() if left in holder.shares]
        if not is_wanted() or not all(
            _yields_now(answers.get(holder)) for holder in still
        ):
            return False
        paused = [
            self._granting.give_way(holder, [left], answers[holder], asker, None)
            for holder in innermost_first({holder: [left] for holder in still})
            if left in holder.shares
        ]
        for resume in paused:
            if resume is not None:
                self._granting.wait_to_resume(resume)
        return True

    def _ask(
        self,
        holder: Reservation,
        leaves: Sequence[Leaf],
        asker: str,
        priority: int,
        request: int | None,
        *,
        is_due: bool = False,
    ) -> Answer:
        """Notify a holder and return its policy's answer.

        Recalled leaves are released regardless of the answer. The policy is not called
        for a request of the same owner.
        """
        owner, token, now = holder.owner.name, holder.token.id, self._timers.now
        notify = partial(self._trace.notify, holder, by=asker, request=request)
        notify(NoticeKind.DEMANDED, leaves)
        answer, error, end = KEEP, "", None
        is_itself = request is not None and owner == asker
        if not (holder.is_being_asked or is_itself):
            holder.is_being_asked = True
            try:
                said = self.ask_policy(
                    holder.terms.policy,
                    Demand(
                        holder=owner,
                        token=token,
                        resources=names_of(leaves),
                        asker=asker,
                        asker_priority=priority,
                        request=request,
                        tick=now,
                    ),
                )
                if type(said) is not Answer:
                    raise TypeError(f"{said!r} is not an Answer; see ConflictPolicy")
                answer = said if said is KEEP else checked(said)
            except Exception as fault:  # noqa: BLE001  a user's callback may raise anything
                error = error_text(fault)
            except BaseException as ends:  # noqa: BLE001  raised when it is told
                error, end = error_text(ends), ends
            finally:
                holder.is_being_asked = False
        if is_due and not _yields_now(answer):
            answer = Answer(kind=AnswerKind.YIELD)
        self._trace.emit(
            Answered(
                tick=now,
                owner=owner,
                token=token,
                request=request,
                answer=answer.kind,
                error=error,
            )
        )
        if error:
            notify(NoticeKind.RAISED, leaves, error=error)
        if end is not None:
            raise end
        return answer

    def _wait_for(
        self,
        waiting: Waiting,
        promised: Yielding,
        answers: dict[Reservation, Answer],
        tick: int,
    ) -> None:
        """Notify promising holders of their deadline, and set its timer."""
        waiting.promise = promised, answers
        for holder, leaves in promised.items():
            self._trace.notify(
                holder,
                NoticeKind.YIELD_BY,
                leaves,
                by=waiting.owner.name,
                until_tick=tick,
                request=waiting.ticket.number,
            )
        call = partial(self._call_in, waiting)
        self._timers.at(tick, Due.PROMISE, call, waiting=waiting)

    def _call_in(self, waiting: Waiting) -> None:
        promise, waiting.promise = waiting.promise, None
        if waiting.is_waiting and promise is not None:
            promised, answers = promise
            self._granting.try_now(waiting, answers)
            self._queue.end_promise(waiting, promised)

    def _again(self, waiting: Waiting) -> None:
        if not waiting.is_waiting:
            return
        try:
            self.demand(waiting)
        finally:  # time advances even if a policy raises
            if waiting.is_waiting:
                self.repeat(waiting)


def _blocking_holders(waiting: Waiting) -> dict[Reservation, list[Leaf]]:
    """Return holder to its blocking leaves, in the order of demands."""
    found: dict[Reservation, list[Leaf]] = {}
    for leaf, share in waiting.shares.items():
        here = leaf  # for a state, the active state is blocking
        if isinstance(leaf, StateLeaf) and leaf.group.active is not None:
            here = leaf.group.active
        for holder in leaf.blockers(waiting.owner, share):
            asked = found.setdefault(holder, [])
            if here not in asked:  # several inactive states map to the active one
                asked.append(here)
    return found


def _may_be_demanded(waiting: Waiting) -> bool:
    """Return True if a request still waits and no promise to it is pending."""
    return waiting.is_waiting and waiting.promise is None


def _yields_now(answer: Answer | None) -> bool:
    return (
        answer is not None
        and answer.kind is not AnswerKind.KEEP
        and answer.after_s == 0.0
    )
