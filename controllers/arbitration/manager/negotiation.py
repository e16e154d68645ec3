"""Ask holders to give way: for who waits, and for another state of the robot.

Holders are told who asks, and answer by their policies. A promise is called in only
when it lets the asker start: nobody gives way in vain. The manager waits for nobody: an
answer that takes time comes due at a tick. What the body does is a fact, which nobody
is asked about: parts freeze and thaw, states are left; a wish to leave a state is
negotiated.
"""

from collections.abc import Callable, Sequence
from functools import partial

from nao_testbed.controllers.arbitration.events import (
    Answered,
    Frozen,
    StateChanged,
    StateRefused,
    Thawed,
)
from nao_testbed.controllers.arbitration.manager import granting, holdings, queue
from nao_testbed.controllers.arbitration.manager.holdings import (
    Yielding,
    innermost_first,
)
from nao_testbed.controllers.arbitration.manager.leaves import StateGroup, StateLeaf
from nao_testbed.controllers.arbitration.manager.records import (
    Freeze,
    Leaf,
    Reservation,
    Waiting,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.state import Due, ReservationState
from nao_testbed.controllers.arbitration.policies import (
    KEEP,
    Answer,
    AnswerKind,
    Demand,
    checked,
)
from nao_testbed.controllers.arbitration.tokens import LossCause, NoticeKind
from nao_testbed.models import BadInput
from nao_testbed.models.errors import error_text
from nao_testbed.models.values import is_fraction, short


def repeat(state: ReservationState, waiting: Waiting) -> None:
    """Ask again every retry period while the request waits: its own or the ledger's."""
    own_s = waiting.terms.retry_s
    state.timers.at(
        state.tick + state.cfg.period(state.cfg.retry_s if own_s is None else own_s),
        Due.RETRY,
        partial(_again, state, waiting),
        waiting=waiting,
    )


def demand(state: ReservationState, waiting: Waiting, *, arrives: bool) -> None:
    """Ask all who are in the way, once; grant the request if they let it.

    An owner is not asked for what it holds itself: its own request waits or is denied.
    What another token of it lent and recalls, it gives back.
    Policies may call the ledger meanwhile: all is looked at afresh after each.
    """
    answers: dict[Reservation, Answer] = {}
    for holder, leaves in _in_the_way(waiting).items():
        if not _may_be_asked_for(waiting):
            return
        still = [leaf for leaf in leaves if leaf in holder.shares]
        is_due = waiting.recalls and granting.may_recall(state, waiting, holder)
        if still and (is_due or holder.owner is not waiting.owner):
            answers[holder] = _ask(
                state,
                holder,
                still,
                waiting.owner.name,
                waiting.priority,
                waiting.ticket.number,
                is_due=is_due,
            )
    if not _may_be_asked_for(waiting):
        return
    yielding = granting.way_clear(state, waiting, answers, arrives=arrives)
    if yielding is None:
        return
    promised = [
        holder
        for holder in yielding
        if not granting.overrides(state, waiting, holder, arrives=arrives)
    ]
    delay_s = max((answers[holder].after_s for holder in promised), default=0.0)
    delay = state.cfg.ticks(delay_s)
    if delay == 0:
        granting.commit(state, waiting, yielding, answers, arrives=arrives)
    elif waiting.deadline and state.tick + delay < waiting.deadline:
        asked = {holder: yielding[holder] for holder in promised}
        _wait_for(state, waiting, asked, answers, state.tick + delay)


def demand_unless_promised(state: ReservationState, waiting: Waiting) -> None:
    """Ask once more those in the way of a request, unless they promised."""
    if waiting.promises is None:
        demand(state, waiting, arrives=False)


def ask_holders(
    state: ReservationState, left: StateLeaf, asker: str, is_wanted: Callable[[], bool]
) -> bool:
    """Ask those who need the active state whether it may be left.

    All are told; an answer that takes time is a refusal for now. `is_wanted` says
    whether it still is to be left, once they have answered.

    Returns:
        Whether all give way; they have lost it then.
    """
    answers: dict[Reservation, Answer] = {}
    for holder in left.seated():
        if left in holder.shares:
            answers[holder] = _ask(state, holder, [left], asker, 0, None)
    still = [holder for holder in left.seated() if left in holder.shares]
    if not is_wanted() or not all(
        _gives_way_now(answers.get(holder)) for holder in still
    ):
        return False
    paused = [
        granting.give_way(state, holder, [left], answers[holder], asker, None)
        for holder in innermost_first({holder: [left] for holder in still})
        if left in holder.shares
    ]
    for resume in paused:
        if resume is not None:
            granting.wait_to_resume(state, resume)
    return True


def _in_the_way(waiting: Waiting) -> dict[Reservation, list[Leaf]]:
    """Return holder to its leaves that are in the way, in the order of asking."""
    found: dict[Reservation, list[Leaf]] = {}
    for leaf, share in waiting.shares.items():
        here = _held_instead(leaf)
        for holder in leaf.blockers(waiting.owner, share):
            asked = found.setdefault(holder, [])
            if here not in asked:  # two inactive states stand for the active one
                asked.append(here)
    return found


def _ask(
    state: ReservationState,
    holder: Reservation,
    leaves: Sequence[Leaf],
    asker: str,
    priority: int,
    request: int | None,
    *,
    is_due: bool = False,
) -> Answer:
    """Tell a holder and return what its policy says.

    Where the leaves were lent and are due, it gives way now whatever that is. The
    policy is not asked if another token of the same owner wants them.
    """
    asked = names_of(leaves)
    state.notify(holder, NoticeKind.DEMANDED, leaves, by=asker, request=request)
    answer, error, end = KEEP, "", None
    is_itself = request is not None and holder.owner.name == asker
    if not (holder.is_being_asked or is_itself):
        holder.is_being_asked = True
        try:
            said = state.ask(
                holder.policy,
                Demand(
                    holder=holder.owner.name,
                    token=holder.token.id,
                    resources=asked,
                    asker=asker,
                    asker_priority=priority,
                    request=request,
                    tick=state.tick,
                ),
            )
            if type(said) is not Answer:
                raise TypeError(f"{said!r} is no Answer; see ConflictPolicy")
            answer = said if said is KEEP else checked(said)
        except Exception as fault:  # noqa: BLE001  a user's callback may raise anything
            error = error_text(fault)
        except BaseException as ends:  # noqa: BLE001  raised when it is told
            error, end = error_text(ends), ends
        finally:
            holder.is_being_asked = False
    if is_due and not _gives_way_now(answer):
        answer = Answer(kind=AnswerKind.YIELD)
    if state.listeners:
        state.emit(
            Answered(
                tick=state.tick,
                owner=holder.owner.name,
                token=holder.token.id,
                request=request,
                answer=answer.kind,
                error=error,
            )
        )
    if error:
        state.notify(
            holder,
            NoticeKind.RAISED,
            leaves,
            by=asker,
            request=request,
            error=error,
        )
    if end is not None:
        raise end
    return answer


def _wait_for(
    state: ReservationState,
    waiting: Waiting,
    promised: Yielding,
    answers: dict[Reservation, Answer],
    tick: int,
) -> None:
    """Tell those who promised until when, and look again then."""
    waiting.promises, waiting.promised = answers, promised
    for holder, leaves in promised.items():
        state.notify(
            holder,
            NoticeKind.YIELD_BY,
            leaves,
            by=waiting.owner.name,
            until_tick=tick,
            request=waiting.ticket.number,
        )
    call = partial(_called_in, state, waiting)
    state.timers.at(tick, Due.PROMISE, call, waiting=waiting)


def _called_in(state: ReservationState, waiting: Waiting) -> None:
    answers, waiting.promises = waiting.promises, None
    if waiting.is_waiting and answers is not None:
        promised, waiting.promised = waiting.promised, None
        granting.try_now(state, waiting, answers)
        waiting.promised = promised
        queue.end_promise(state, waiting)


def _again(state: ReservationState, waiting: Waiting) -> None:
    if not waiting.is_waiting:
        return
    try:
        demand_unless_promised(state, waiting)
    finally:  # whatever a policy ends, time goes on
        if waiting.is_waiting:
            repeat(state, waiting)


def _held_instead(leaf: Leaf) -> Leaf:
    """Return the leaf that those in the way of a leaf have: of states, the active."""
    if isinstance(leaf, StateLeaf) and leaf.group.active is not None:
        return leaf.group.active
    return leaf


def _may_be_asked_for(waiting: Waiting) -> bool:
    """Whether a request still waits, and no promise to it is pending."""
    return waiting.is_waiting and waiting.promises is None


def _gives_way_now(answer: Answer | None) -> bool:
    return (
        answer is not None
        and answer.kind is not AnswerKind.KEEP
        and answer.after_s == 0.0
    )


MOST_TURNS = 20
"""Times that holders are asked, at most, as their answers make others active."""


def add_virtual_owner(state: ReservationState, name: str) -> None:
    """Keep a name for a virtual owner, so that no real one takes it."""
    if name in state.owners:
        raise BadInput(f"{name!r} is a real owner; a virtual one needs its own name.")
    state.virtual.add(name)


def freeze(
    state: ReservationState, leaves: Sequence[Leaf], by: str, what: Freeze
) -> None:
    """Let a virtual owner have leaves."""
    cap = what.effort_cap
    if cap is not None and not is_fraction(cap):
        raise BadInput(f"effort cap is {short(cap)}; give a fraction from 0 to 1.")
    add_virtual_owner(state, by)
    seated: Yielding = {}
    for leaf in leaves if what.is_total else ():
        for holder in leaf.seated():
            seated.setdefault(holder, []).append(leaf)
    for holder, theirs in innermost_first(seated).items():
        left = [leaf for leaf in theirs if leaf in holder.shares]
        if left:  # it may have gone with another one
            holdings.take_away(state, holder, left, LossCause.FROZEN, by)
    for leaf in leaves:
        leaf.freezes[by] = what
        _refresh(state, leaf)
    state.emit(
        Frozen(
            tick=state.tick,
            leaves=names_of(leaves),
            by=by,
            effort_cap=cap,
            is_total=what.is_total,
        )
    )
    if cap is not None:
        holdings.tell_capped(state, leaves, by, NoticeKind.LIMITED)


def thaw(state: ReservationState, leaves: Sequence[Leaf], by: str) -> None:
    """Let a virtual owner give back what it has of some leaves."""
    theirs = [leaf for leaf in leaves if by in leaf.freezes]
    capped = [leaf for leaf in theirs if leaf.freezes[by].effort_cap is not None]
    for leaf in theirs:
        del leaf.freezes[by]
        _refresh(state, leaf)
    if theirs:
        state.emit(Thawed(tick=state.tick, leaves=names_of(theirs), by=by))
        holdings.tell_capped(state, capped, by, NoticeKind.UNLIMITED)


def set_state(
    state: ReservationState, group: StateGroup, following: StateLeaf | None
) -> None:
    """Note as a fact which state is active; who needs the one left loses it."""
    left = group.active
    if left is following:
        return
    by = following.name if following else group.name
    seated: Yielding = {h: [left] for h in left.seated()} if left else {}
    for holder, leaves in innermost_first(seated).items():
        if leaves[0] in holder.shares:
            holdings.take_away(state, holder, leaves, LossCause.STATE_LEFT, by)
    group.active = following
    for leaf in group.leaves.values():
        state.touch(leaf)
    state.emit(
        StateChanged(
            tick=state.tick,
            group=group.name,
            active=following.name if following else None,
        )
    )


def ask_state(state: ReservationState, group: str, wanted: str | None, by: str) -> bool:
    """Ask those who need the active state; change it if all give way.

    Their policies may change the states, and the list of these: then those are
    asked who need what is active now.
    """
    for _ in range(MOST_TURNS):
        states, following = _find(state, group, wanted)
        left = states.active
        if left is None or left is following:
            break
        asked = states, following, left

        def is_wanted(asked: object = asked) -> bool:
            states, following = _find(state, group, wanted)
            return (states, following, states.active) == asked

        gives_way = ask_holders(state, left, by, is_wanted)
        if gives_way:
            break
        if is_wanted():
            _refuse(state, left, following)
            return False
    else:
        return False
    set_state(state, states, following)
    return True


def _find(
    state: ReservationState, group: str, wanted: str | None
) -> tuple[StateGroup, StateLeaf | None]:
    states = state.group(group)
    return states, None if wanted is None else state.state(group, wanted)


def _refuse(state: ReservationState, kept: StateLeaf, wanted: StateLeaf | None) -> None:
    if state.listeners:
        holders = dict.fromkeys(r.owner.name for r in kept.seated())
        state.emit(
            StateRefused(
                tick=state.tick,
                group=kept.group.name,
                wanted=wanted.name if wanted else None,
                holders=tuple(sorted(holders)),
            )
        )


def _refresh(state: ReservationState, leaf: Leaf) -> None:
    leaf.is_frozen = any(freeze.is_total for freeze in leaf.freezes.values())
    if not leaf.is_frozen:
        state.touch(leaf)
