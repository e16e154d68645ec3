"""Drawn histories with reservations: rivals, faults, failures, sleep at any moment.

Each trace is judged by I-25, and by all invariants of the reservations.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import (
    Executed,
    Frozen,
    Revoked,
    event_from_line,
    event_to_line,
)
from nao_testbed.controllers.arbitration.invariants import Checker, trace_hash
from nao_testbed.controllers.schemas import ActuationSchema, SchemaInfo, State, Waking
from nao_testbed.controllers.schemas.events import (
    Modulated,
    NotWinner,
    SchemaEvent,
    SchemaFailed,
    SchemaStopped,
    Won,
)
from nao_testbed.controllers.schemas.invariants import WinnerDiscipline, check_schemas
from nao_testbed.models import Robot
from tests.controllers.schemas.schema_world import SchemaWorld

SLOTS = 80
LEAVES = ("HeadYaw", "HeadPitch", "LShoulderPitch", "RShoulderPitch", "LElbowYaw")
NEEDS: dict[str, tuple[str, ...]] = {
    "head": ("HeadYaw", "HeadPitch"),
    "yaw": ("HeadYaw",),
    "arms": ("LShoulderPitch", "RShoulderPitch"),
    "all": LEAVES,
    "none": (),
}
"""Schema to its needs; several want the same."""


class Drawn(ActuationSchema[Any]):
    """Does something else in every slot, drawn from its own randomness."""

    until = 0
    says = True

    def ready(self) -> bool:
        if self.tick >= self.until:
            self.until = self.tick + int(self.random.integers(1, 12))
            self.says = bool(self.random.random() < 0.7)
        if self.random.random() < 0.01:
            raise RuntimeError("drawn in ready")
        self._try_what_it_may_not()
        return self.says

    def start(self) -> None:
        for child in ("head", "yaw", "arms", "none"):
            if self.path.count("/") < 2 and self.random.random() < 0.5:
                self.wake(child, order=int(self.random.integers(0, 3)))
        self._command()

    def iterate(self) -> None:
        self._command()
        drawn = self.random.random()
        if drawn < 0.02:
            raise RuntimeError("drawn in iterate")
        if drawn < 0.05:
            self.finish()
        elif drawn < 0.10 and self.awake:
            self.sleep(self.awake[0])
        elif drawn < 0.15 and self.path.count("/") < 2:
            self.wake("arms", order=int(self.random.integers(0, 3)))

    def arbitrate(self, ready: Sequence[str], present: str | None) -> str | None:
        drawn = self.random.random()
        if drawn < 0.1:
            return None
        return self.random.choice(ready) if drawn < 0.4 else ready[0]

    def stop(self) -> None:
        self._try_what_it_may_not()
        if self.random.random() < 0.02:
            raise RuntimeError("drawn in stop")

    def on_lost(self) -> None:
        self._try_what_it_may_not()

    def _command(self) -> None:
        for leaf in self.obtained:
            self.submit(leaf, float(self.random.uniform(-0.1, 0.1)))
        if self.random.random() < 0.2:
            self.play("wave")

    def _try_what_it_may_not(self) -> None:
        if self.random.random() < 0.05:
            assert not self.submit("HeadYaw", 0.0)
            assert not self.wake("yaw")
            assert self.play("wave").has_failed


CLASSES = [
    type(
        name,
        (Drawn,),
        {
            "info": SchemaInfo(
                name=name,
                about="Drawn.",
                needs=needs,
                period_s=0.01 * (1 + number % 3),
            )
        },
    )
    for number, (name, needs) in enumerate(NEEDS.items())
]


def play(robot: Robot, seed: int) -> tuple[SchemaWorld, Checker]:
    stage = SchemaWorld.of(robot, *CLASSES, seed=seed)
    checker = Checker((WinnerDiscipline,))
    stage.ledger.listeners.append(checker.see)
    random = Random(seed)
    for name in ("head", "arms", "none", "all"):
        policy = random.choice(("lock", "stop", "pause"))
        waking = Waking(
            schema=name,
            name=f"root {name}",
            priority=random.randint(0, 3),
            policy=policy,  # type: ignore[arg-type]  # its name is taken as well
            timeout_s=random.choice((0.0, 0.05, 5.0)),
        )
        stage.runtime.add(waking)
        stage.runtime.wake(waking.name, 0)
    held = []
    for tick in range(SLOTS):
        while random.random() < 0.3:  # taken and given back before anybody looks
            stage.take("flash", random.choice(LEAVES))
            stage.ledger.give_up(("flash",), stage.ledger.tick)
        drawn = random.random()
        if drawn < 0.10:
            names = random.sample(LEAVES, 2)
            held.append(stage.take("rival", *names, priority=random.randint(0, 5)))
        elif drawn < 0.15:
            stage.ledger.drop("root head", tick)
        elif drawn < 0.20:
            stage.ledger.freeze([random.choice(LEAVES)], "fault", tick)
        elif drawn < 0.25:
            stage.ledger.thaw("fault", tick)
        elif drawn < 0.35:
            root = f"root {random.choice(('head', 'arms', 'none', 'all'))}"
            if stage.state(root) is State.SLEPT:
                stage.runtime.wake(root, tick)
            else:
                stage.runtime.sleep(root, tick)
        if drawn > 0.85:
            stage.ledger.give_up(("rival",), tick) if held else None
        stage.slot()
    return stage, checker


@pytest.mark.slow
@pytest.mark.requirement("JD-7", "JD-8", "JD-11", "I-25", "I-28", "I-29")
def test_every_drawn_history_keeps_the_discipline(nao: Robot) -> None:
    seen: dict[str, int] = {}
    for seed in range(40):
        stage, checker = play(nao, seed)
        assert not checker.finish(), seed
        assert not stage.world.checker.finish(), seed
        for event in stage.events:
            name = type(event).__name__
            if isinstance(event, SchemaStopped):
                name = f"stopped: {event.why}"
            seen[name] = seen.get(name, 0) + 1
    wanted = {kind.__name__ for kind in (Executed, Frozen, Revoked, Won, NotWinner)}
    why = ("lost", "not ready", "finished", "asleep", "failed", "no token")
    assert wanted | {f"stopped: {word}" for word in why} <= seen.keys(), seen
    assert seen[SchemaFailed.__name__] > 20
    assert seen[Executed.__name__] > 1000


@pytest.mark.requirement("I-25")
def test_the_same_seed_gives_the_same_trace_of_everything(nao: Robot) -> None:
    first, again, other = (trace_hash(play(nao, seed)[0].events) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.requirement("I-25")
def test_a_trace_without_its_releases_breaks_the_discipline(nao: Robot) -> None:
    """The judge bites: without what ends tokens, losers still hold them."""
    stage, _ = play(nao, 5)
    kept = [event for event in stage.events if type(event).__name__ != "Released"]
    assert check_schemas(kept)


def test_events_of_schemas_come_back_from_their_lines(nao: Robot) -> None:
    events = [e for e in play(nao, 7)[0].events if isinstance(e, SchemaEvent)]
    assert [event_from_line(event_to_line(event)) for event in events] == events
    told = {type(event).__name__ for event in events}
    known = {kind.__name__ for kind in SchemaEvent.__subclasses__()}
    assert told == known - {Modulated.__name__}, "nobody modulates in them"
