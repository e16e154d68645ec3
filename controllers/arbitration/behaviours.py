"""Behaviours as data: what each needs; start one, stop it, play its timeline.

    running = start_behaviour(GREETING, LedgerFront(ledger))
    running.runs  # whether it runs now; of one that lacks something essential False
    running.missing  # ("Left leg", "Right leg") of a robot that is walking
    running.present_token(ledger)  # for its commands
    stop_behaviour(running, front)

    player = TimelinePlayer(start_behaviour(WAVE, front), ledger, gate)
    player.step(tick)  # in every device slot, until player.is_over

A need is essential or not: without an essential one a behaviour does not run, without
another it does, and adapts. The other way of ES2535273 is to cut it in parts whose
needs are all essential: a part that lacks one does not run, the whole always does;
`runs_regardless` and `needs_all_parts` change these two defaults.

The timelines of ES2535273 go on whoever has the motors. `TimelinePlayer` goes on only
while its behaviour has all that it started with, so that a paused motion resumes from
where it was; it is over when they are lost for good.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from nao_testbed.controllers.arbitration.events import Rejected
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.manager.front import Front
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import check_tick
from nao_testbed.controllers.arbitration.policies import ConflictPolicy, Lock
from nao_testbed.controllers.arbitration.requests import (
    OnLost,
    OnStop,
    Owner,
    Request,
    checked_rates,
)
from nao_testbed.controllers.arbitration.resource_tree import (
    ResourceTree,
    check_name,
    check_names,
)
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import short


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """Frames of a motion at a fixed rate [ES2535273T3, description of F1].

    It takes for granted that the motors are there at every frame; that they are is
    what the reservation is for. `timeline_player` plays it.
    """

    frames: int
    frames_per_second: float = 15.0
    angles: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Motor to its angle at each frame, in rad."""

    def __post_init__(self) -> None:
        if self.frames < 1 or not 0.0 < self.frames_per_second < float("inf"):
            raise BadInput(
                f"a timeline of {self.frames} frames at {self.frames_per_second} a "
                "second cannot be played; give 1 or more, at a positive rate."
            )
        for motor, angles in self.angles.items():
            if len(angles) != self.frames:
                raise BadInput(
                    f"{motor!r} has {len(angles)} angles in a timeline of "
                    f"{self.frames} frames; give one for each frame."
                )

    @property
    def length_s(self) -> float:
        """Time that it plays, in s."""
        return self.frames / self.frames_per_second

    def frame_at(self, elapsed_s: float) -> int | None:
        """Return the number of the frame at a time since the start; None at the end."""
        number = int(elapsed_s * self.frames_per_second + 1e-9)
        return number if 0 <= number < self.frames else None


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What one behaviour needs, simple, state and cumulative alike."""

    name: str
    """Of its owner; no two have the same."""
    essential: tuple[str, ...] = ()
    """Leaves, composites and states without which it does not run."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Cumulative resource to rate in percent; essential."""
    optional: tuple[str, ...] = ()
    """What it takes if it is free at its start."""
    parts: tuple["Behaviour", ...] = ()
    """Sub-behaviours; what this one takes is open to them."""
    runs_regardless: bool = False
    """Whether it runs without its essential resources too, with those that it gets."""
    needs_all_parts: bool = False
    """Whether it runs only if all its parts do; then all that is essential to any of
    them is taken in one step."""
    timeout_s: float = 0.0
    """Longest wait at its start in s; 0 tries once."""
    timeline: Timeline | None = None
    policy: ConflictPolicy = field(default_factory=Lock)
    priority: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name(self.name, "a behaviour"))
        for what in ("essential", "optional"):
            object.__setattr__(self, what, check_names(getattr(self, what), what))
        object.__setattr__(self, "rates", checked_rates(self.rates))
        for what in ("runs_regardless", "needs_all_parts"):
            if type(getattr(self, what)) is not bool:
                raise BadInput(
                    f"{what} of behaviour {self.name!r} is "
                    f"{short(getattr(self, what))}; give true or false."
                )
        is_list = isinstance(self.parts, list | tuple)
        if not is_list or not all(isinstance(one, Behaviour) for one in self.parts):
            raise BadInput(
                f"parts of behaviour {self.name!r} are {short(self.parts)}; give a "
                "tuple of behaviours."
            )
        names = [one.name for one in self.walk()]
        for name in names:
            if names.count(name) > 1:
                raise BadInput(
                    f"behaviour {self.name!r} has {name!r} twice; give each part a "
                    "name of its own."
                )

    def walk(self) -> Iterator["Behaviour"]:
        """Yield this one and all its parts, from the top."""
        yield self
        for part in self.parts:
            yield from part.walk()


GREETING = Behaviour(
    name="Greeting",
    essential=("TTS", "Right arm"),
    optional=("Left leg", "Right leg"),
)
"""The example of ES2535273: a word, a wave, and two steps if legs are free."""

GREETING_IN_PARTS = Behaviour(
    name="Greeting in parts",
    parts=(
        Behaviour(name="Say hello", essential=("TTS",)),
        Behaviour(name="Wave", essential=("Right arm",)),
        Behaviour(name="Two steps", essential=("Left leg", "Right leg")),
    ),
)
"""The same, cut in parts."""


_Starts = dict[str, int]
"""Name to number of all that began, a whole before its parts."""


@dataclass(frozen=True, kw_only=True)
class RunningBehaviour:
    """What came of starting a behaviour."""

    behaviour: Behaviour
    front: Front = field(repr=False, compare=False)
    """Of the ledger that knows of it."""
    started: bool
    """Whether it got what it needs to run."""
    number: int = 0
    """Of this start, at its ledger."""
    token: Token | None = None
    """Granted at its start; None: it has nothing. See `present_token`. Of one that
    needs all its parts it covers what they cannot lack as well."""
    has: tuple[str, ...] = ()
    """Leaves of its own needs that its token covered at the start, sorted."""
    missing: tuple[str, ...] = ()
    """Names of its needs that it did not get."""
    parts: tuple["RunningBehaviour", ...] = ()

    def walk(self) -> Iterator["RunningBehaviour"]:
        """Yield this one and all its parts, from the top."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def part(self, name: str) -> "RunningBehaviour":
        """Return what came of the part of a name.

        Raises:
            UnknownName: it has no such part.
        """
        found = {one.behaviour.name: one for one in self.walk()}
        if name not in found:
            raise UnknownName("Part", name, found, f"behaviour {self.behaviour.name!r}")
        return found[name]

    def present_token(self, ledger: Ledger) -> Token | None:
        """Return the token for its commands now: after a pause it is another.

        Returns:
            None while it is paused, when its token has ended, or if it had none.
        """
        if self.token is None:
            return None
        return ledger.follow(self.behaviour.name, self.token).token

    @property
    def runs(self) -> bool:
        """Whether it started and is not over; a pause is not the end."""
        with self.front.step() as (ledger, _):
            return not self.is_over(ledger)

    def is_over(self, ledger: Ledger) -> bool:
        """Tell whether it was stopped, or lost for good what its token covered."""
        name = self.behaviour.name
        if not self.started or not ledger.has_started(name, self.number):
            return True
        return self.token is not None and ledger.follow(name, self.token).is_over

    def has_all_it_had(self, ledger: Ledger) -> bool:
        """Tell whether its token covers all that the first one did at the start."""
        token = self.present_token(ledger)
        return all(ledger.authorise(token, leaf) is None for leaf in self.has)


def start_behaviour(
    behaviour: Behaviour,
    front: Front,
    parent: str | None = None,
    *,
    on_stop: OnStop | None = None,
    on_lost: OnLost | None = None,
) -> RunningBehaviour:
    """Ask for all that a behaviour and its parts need, each part for itself.

    Args:
        behaviour: the whole.
        front: of the ledger; lets time pass while something is waited for.
        parent: name of an owner, known already, that it is a part of.
        on_stop: called when it or a part promised to give way, and has to stop in time.
        on_lost: called when it or a part has lost resources; the notice says whose.

    Returns:
        What runs, from the whole down. What does not run holds nothing.

    Raises:
        UnknownName: a resource or the parent is not known; nothing is held then.
        BadInput: a need cannot be asked for, or a behaviour of one of these names runs
            already; nothing is held then.
    """
    with front.step() as (ledger, _):
        check_behaviour(behaviour, ledger.tree)
    starts: _Starts = {}
    habits = Owner(name=behaviour.name, on_stop=on_stop, on_lost=on_lost)
    try:
        running = _start(behaviour, front, parent, habits, starts)
    except BaseException:
        _stop(starts, front)
        raise
    return running


def check_behaviour(behaviour: Behaviour, tree: ResourceTree) -> None:
    """Refuse what cannot be asked for by a behaviour or its parts.

    Raises:
        UnknownName: a resource is not in the tree.
        BadInput: what it and all its parts need together is more than there is.
    """
    for one in behaviour.walk():
        for name in (*one.essential, *one.optional, *one.rates):
            tree.node(name)
        if one.needs_all_parts:
            _request(one, one.essential, one.rates, one.optional)


def stop_behaviour(running: RunningBehaviour, front: Front) -> None:
    """Give back all that a behaviour and its parts hold, and wait for no more.

    That is what was taken at the start, by whatever token they have it since a pause,
    and all else that was asked for by their names. Stopped again nothing happens, nor
    to another one that was started by such a name since.
    """
    _stop({one.behaviour.name: one.number for one in running.walk()}, front)


def _stop(starts: Mapping[str, int], front: Front) -> None:
    with front.step() as (ledger, tick):
        ledger.stop(starts, tick)


def _start(
    behaviour: Behaviour,
    front: Front,
    parent: str | None,
    habits: Owner,
    starts: _Starts,
) -> RunningBehaviour:
    habits = replace(
        habits,
        name=behaviour.name,
        parent=parent,
        policy=behaviour.policy,
        priority=behaviour.priority,
        timeout_s=behaviour.timeout_s,
    )
    with front.step() as (ledger, _):
        ledger.check_free(behaviour.name)
        front.add_owner(habits)
        number = starts[behaviour.name] = ledger.start(behaviour.name)
    running = _run(behaviour, number, front, habits, starts)
    if running.started:
        with front.step() as (ledger, _):
            ledger.end_start(behaviour.name, number)
    else:
        _stop({one.name: starts.get(one.name, 0) for one in behaviour.walk()}, front)
    return running


def _run(
    behaviour: Behaviour, number: int, front: Front, habits: Owner, starts: _Starts
) -> RunningBehaviour:
    idle = RunningBehaviour(
        behaviour=behaviour,
        front=front,
        started=False,
        number=number,
        missing=_needs(behaviour),
    )
    own = _take_own(idle, front)
    if not own.started:
        return idle
    parts = tuple(
        _start(one, front, behaviour.name, habits, starts) for one in behaviour.parts
    )
    if behaviour.needs_all_parts and not all(part.started for part in parts):
        return idle
    return replace(own, parts=parts)


def _take_own(idle: RunningBehaviour, front: Front) -> RunningBehaviour:
    """Return how it runs, without its parts; if it does not, as it was given."""
    behaviour, needs = idle.behaviour, idle.missing
    essential, rates = behaviour.essential, behaviour.rates
    running = replace(idle, started=True, missing=())
    request = _request(behaviour, essential, rates, behaviour.optional)
    if request is None:
        return running
    outcome = front.take(request)
    lacking: tuple[str, ...] = ()
    if not outcome.is_granted and (essential or rates):
        if not behaviour.runs_regardless:
            return idle
        wished = (*essential, *behaviour.optional)
        request = _request(behaviour, (), {}, wished, timeout_s=0.0)
        if request is not None:
            outcome, lacking = front.take(request), tuple(rates)
    if not outcome.is_granted:
        is_for_parts = _request(behaviour, (), {}, ()) is not None
        return idle if is_for_parts else replace(running, missing=needs)
    with front.step() as (ledger, _):
        tree = ledger.tree
    own = {leaf for name in needs for leaf in tree.leaves(name)}
    own.update(motor for leaf in tuple(own) for motor in tree.limits.get(leaf, ()))
    return replace(
        running,
        token=outcome.token,
        has=tuple(leaf for leaf in outcome.obtained if leaf in own),
        missing=(*outcome.missing, *lacking),
    )


def _request(
    behaviour: Behaviour,
    essential: tuple[str, ...],
    rates: Mapping[str, float],
    optional: tuple[str, ...],
    timeout_s: float | None = None,
) -> Request | None:
    """Return the request for some of its needs, and for what parts cannot lack.

    Returns:
        None if that is nothing.

    Raises:
        BadInput: together that is more than there is, or a name is there twice.
    """
    names: dict[str, None] = {}
    sums = dict(rates)
    for part in behaviour.parts if behaviour.needs_all_parts else ():
        for one in part.walk():
            if one.runs_regardless:
                continue
            names.update(dict.fromkeys(one.essential))
            for name, percent in one.rates.items():
                sums[name] = round(sums.get(name, 0.0) + percent, 2)
    optional = tuple(name for name in optional if name not in names)
    resources = (*essential, *(name for name in names if name not in essential))
    if not (resources or sums or optional):
        return None
    return Request(
        owner=behaviour.name,
        resources=resources,
        rates=sums,
        optional=optional,
        timeout_s=timeout_s,
    )


def _needs(behaviour: Behaviour) -> tuple[str, ...]:
    return (*behaviour.essential, *behaviour.rates, *behaviour.optional)


class TimelinePlayer:
    """Submits a frame when its time has come.

    Motors that the behaviour did not get, as they are not essential, rest.
    """

    def __init__(self, running: RunningBehaviour, ledger: Ledger, gate: Gate) -> None:
        """Stand before the first frame.

        Args:
            running: a behaviour that runs, and has a timeline with angles.
            ledger: knows the behaviour's token of now.
            gate: of the robot that moves.

        Raises:
            BadInput: there is nothing to play, or it does not run.
        """
        name, timeline = running.behaviour.name, running.behaviour.timeline
        if timeline is None or not timeline.angles:
            raise BadInput(
                f"behaviour {name!r} has no timeline with angles; give it one."
            )
        if not running.runs:
            lacks = f"lacks {', '.join(running.missing) or 'a part'}"
            why = "has ended" if running.started else lacks
            raise BadInput(
                f"behaviour {name!r} does not run, it {why}; start it again."
            )
        self._running = running
        self._ledger = ledger
        self._gate = gate
        self._timeline = timeline
        self._motors = tuple(m for m in timeline.angles if m in running.has)
        self._played = 0
        """Ticks that it had its motors."""
        self._last: int | None = None
        """Tick of the last step, if it had its motors then."""
        self._shown: int | None = None
        """The frame that the motors have as their set-points."""
        self.is_done = False
        """Whether the last frame has had its time."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is played: all is done, or the motors are lost for good.

        So after a stop, an override or a freeze; a pause is not the end.
        """
        return self.is_done or self._running.is_over(self._ledger)

    @property
    def frame(self) -> int | None:
        """Number of the frame that is played; None before, after, and while paused."""
        return self._shown

    def step(self, tick: int) -> Rejected | None:
        """Submit the frame of this slot, if it is another than before.

        Args:
            tick: now; call it in every slot, before the gate's `flush`.

        Returns:
            Why the gate refused the frame; None if it did not.

        Raises:
            BadInput: an angle is out of the motor's range.
        """
        check_tick(tick)
        if self.is_done:
            return None
        if not self._running.has_all_it_had(self._ledger):
            self._last = self._shown = None  # the gate holds what it lost
            return None
        if self._last is not None:
            self._played += tick - self._last
        self._last = tick
        frame = self._timeline.frame_at(self._played * self._ledger.cfg.tick_s)
        if frame is None:
            self.is_done, self._shown = True, None
            return None
        if frame == self._shown:
            return None
        self._shown = frame
        token = self._running.present_token(self._ledger)
        angles = self._timeline.angles
        return self._gate.submit_all(token, {m: angles[m][frame] for m in self._motors})
