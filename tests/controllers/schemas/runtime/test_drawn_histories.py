"""Random histories with reservations: rivals, faults, failures, sleep at any time.

Each trace passes all trace rules; winners act, and no owner blocks itself.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import (
    Event,
    Executed,
    Expired,
    Failed,
    Frozen,
    Granted,
    Released,
    Revoked,
    Ticked,
    event_from_line,
    event_to_line,
)
from nao_testbed.controllers.arbitration.tokens import TokenId, Why
from nao_testbed.controllers.schemas import (
    Activation,
    ActuationSchema,
    SchemaInfo,
    State,
)
from nao_testbed.controllers.schemas.events import (
    Modulated,
    NotWinner,
    SchemaEvent,
    SchemaFailed,
    SchemaStarted,
    SchemaStopped,
    StateChangedTo,
    Won,
)
from nao_testbed.models import Robot
from nao_testbed.testing import trace_hash
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
"""Schema to its needs; several need the same."""


class Drawn(ActuationSchema[Any]):
    """Acts at random in every slot, with its own generator."""

    until = 0
    says = True

    def ready(self) -> bool:
        if self.tick >= self.until:
            self.until = self.tick + int(self.random.integers(1, 12))
            self.says = bool(self.random.random() < 0.7)
        if self.random.random() < 0.01:
            raise RuntimeError("drawn in ready")
        self._try_forbidden_calls()
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
        self._try_forbidden_calls()
        if self.random.random() < 0.02:
            raise RuntimeError("drawn in stop")

    def on_lost(self) -> None:
        self._try_forbidden_calls()

    def _command(self) -> None:
        for leaf in self.obtained:
            self.submit(leaf, float(self.random.uniform(-0.1, 0.1)))
        if self.random.random() < 0.2:
            self.play("wave")

    def _try_forbidden_calls(self) -> None:
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


def play(robot: Robot, seed: int) -> SchemaWorld:
    stage = SchemaWorld.of(robot, *CLASSES, seed=seed)
    random = Random(seed)
    for name in ("head", "arms", "none", "all"):
        policy = random.choice(("lock", "stop", "pause"))
        activation = Activation(
            schema=name,
            name=f"root {name}",
            priority=random.randint(0, 3),
            policy=policy,  # type: ignore[arg-type]  # its name is taken as well
            timeout_s=random.choice((0.0, 0.05, 5.0)),
        )
        stage.runtime.add(activation)
        stage.runtime.wake(activation.name, 0)
    held = []
    for tick in range(SLOTS):
        while random.random() < 0.3:  # taken and released between two steps
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
    return stage


def idle_or_stuck(events: Sequence[Event]) -> list[str]:
    """Return idle winners that hold something, and owners that block themselves."""
    found: list[str] = []
    idle: dict[str, int] = {}
    """Number of slots in which an idle winner held something."""
    held: dict[str, set[TokenId]] = {}
    blocked: set[str] = set()
    for event in events:
        match event:
            case StateChangedTo(state=State.WINNER) | SchemaStopped():
                idle[event.path] = 0
            case StateChangedTo() | SchemaStarted():
                idle.pop(event.path, None)
            case Granted():
                held.setdefault(event.owner, set()).add(event.token)
                blocked.discard(event.owner)
            case Released() | Revoked() | Expired():
                blocked.discard(event.owner)
                if isinstance(event, Expired) or event.is_whole:
                    held[event.owner].discard(event.token)
            case Failed(why=Why.DEADLOCK) if held.get(event.owner):
                found += [f"{event.owner} denies itself"] * (event.owner in blocked)
                blocked.add(event.owner)
            case Ticked():
                for path in list(idle):
                    idle[path] = idle[path] + 1 if held.get(path) else 0
                    found += [f"{path} is idle"] * (idle[path] > 3)
    return found


@pytest.mark.slow
@pytest.mark.requirement("JD-7", "JD-8", "JD-11", "I-25", "I-28", "I-29")
def test_random_histories_pass_all_rules(nao: Robot) -> None:
    seen: dict[str, int] = {}
    for seed in range(40):
        stage = play(nao, seed)
        assert not stage.world.checker.finish(), seed
        assert not idle_or_stuck(stage.events), seed
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
def test_same_seed_gives_the_same_trace(nao: Robot) -> None:
    first, again, other = (trace_hash(play(nao, seed).events) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_schema_event_round_trip_through_its_line(nao: Robot) -> None:
    events = [e for e in play(nao, 7).events if isinstance(e, SchemaEvent)]
    assert [event_from_line(event_to_line(event)) for event in events] == events
    told = {type(event).__name__ for event in events}
    known = {kind.__name__ for kind in SchemaEvent.__subclasses__()}
    assert told == known - {Modulated.__name__}, "no modulation in these histories"
