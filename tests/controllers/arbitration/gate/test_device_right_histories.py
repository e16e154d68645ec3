"""I-14 over random histories of calls, with and without the right to a joint.

Every change of the robot in a slot must be explained by the events of that slot; the
invariants are checked on every trace.
"""

import contextlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.events import (
    Commanded,
    Event,
    Executed,
    Frozen,
    MadeSafe,
    Rejected,
    Thawed,
    Unshifted,
)
from nao_testbed.controllers.arbitration.gate.shifts import LEAVING_RATE
from nao_testbed.controllers.arbitration.requests import Owner, Request, StaleToken
from nao_testbed.controllers.arbitration.tokens import Loss, Token
from nao_testbed.models import BadInput, Robot
from tests.controllers.arbitration.gate_setup import World, leaf, limits, motor, node

MOTORS = ("HeadPitch", "HeadYaw", "LElbowRoll", "LHipYawPitch")
LIMITS = {"Head limit": MOTORS[:2], "Rest limit": (*MOTORS[2:], "RHipYawPitch")}
OWNERS = ("ann", "bob", "cat", "controller")
SLOTS = 60
HISTORIES = 16
"""With about four calls a slot: four thousand calls."""


def world_of(robot: Robot) -> World:
    tree = node(
        "root",
        node("Motors", *map(motor, MOTORS)),
        *(limits(name, *joints) for name, joints in LIMITS.items()),
        leaf("Speech"),
    )
    world = World.of(robot, tree)
    for k, name in enumerate(OWNERS):
        parent = "ann" if name == "bob" else None
        world.ledger.add_owner(Owner(name=name, parent=parent, priority=k), 0)
    return world


class History:
    """Random calls of owners, some of them with a valid token."""

    def __init__(self, robot: Robot, seed: int) -> None:
        self.world = world_of(robot)
        self.rng = random.Random(seed)
        self.tokens: list[Token | None] = [None]
        self.n = len(robot.joints)
        self.calls = 0

    def step(self) -> None:
        rng, ledger, gate = self.rng, self.world.ledger, self.world.gate
        tick, token = ledger.tick, rng.choice(self.tokens[-6:])
        if token is not None and rng.random() < 0.05:
            token = token._replace(secret=token.secret ^ 1)
        owner = rng.choice(OWNERS)
        names = rng.sample([*MOTORS, *LIMITS], rng.randint(1, 3))
        angle = rng.uniform(-0.3, 0.0)
        calls: tuple[Callable[[], Any], ...] = (
            lambda: self.ask(owner, names),
            lambda: self.ask(owner, names),
            lambda: gate.submit(token, rng.choice(MOTORS), angle),
            lambda: gate.submit(token, rng.choice([*LIMITS]), rng.random()),
            lambda: gate.submit_all(token, dict.fromkeys(MOTORS[:2], angle)),
            lambda: gate.submit_together([(token, {rng.choice(MOTORS): angle})]),
            lambda: gate.submit_shift(token, self.shift()),
            lambda: gate.submit_shift(token, self.shift()),
            lambda: gate.submit_stiffness(token, np.full(self.n, rng.random())),
            lambda: self.allow(ledger.allow_shift, token, owner),
            lambda: self.allow(ledger.allow_limit, token, owner),
            lambda: ledger.entrust("controller", tick, is_entrusted=rng.random() < 0.8),
            lambda: ledger.release(token, tick) if token else None,
            lambda: ledger.drop(owner, tick) if rng.random() < 0.3 else None,
            lambda: ledger.freeze(
                names[:1],
                "hot",
                tick,
                effort_cap=rng.choice([None, 0.3]),
                is_total=rng.random() < 0.5,
            ),
            lambda: ledger.thaw("hot", tick),
        )
        self.calls += 1
        # Calls with a stale token, or one without a motor, are rejected.
        with contextlib.suppress(StaleToken, BadInput):
            rng.choice(calls)()

    def allow(
        self, allow: Callable[..., None], token: Token | None, owner: str
    ) -> None:
        if token is not None:
            tick = self.world.ledger.tick
            allow(token, owner, tick, is_allowed=self.rng.random() < 0.7)

    def ask(self, owner: str, names: list[str]) -> None:
        loss = self.rng.choice([Loss.WHOLE, Loss.PARTIAL])
        request = Request(owner=owner, resources=tuple(names), loss=loss)
        token = self.world.ask(request)
        if token is not None:
            self.tokens.append(token)

    def shift(self) -> np.ndarray:
        shift = np.zeros(self.n)
        for name in self.rng.sample([*MOTORS, "RHipYawPitch"], 2):
            shift[self.world.joint(name)] = self.rng.uniform(-0.05, 0.05)
        return shift

    def slot(self) -> list[Event]:
        """Flush; return the events of this slot."""
        told = len(self.world.events)
        for _ in range(self.rng.randint(1, 7)):
            self.step()
        self.world.flush()
        return self.world.events[told:]


@pytest.mark.requirement("I-14")
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_every_change_of_the_robot_is_explained_by_events(
    nao: Robot, seed: int
) -> None:
    history = History(nao, seed)
    world = history.world
    joints = {
        name: [
            world.joint(x)
            for x in (
                [name]
                if name[1:] != "HipYawPitch"
                else ["LHipYawPitch", "RHipYawPitch"]
            )
        ]
        for name in MOTORS
    }
    joints |= {name: [world.joint(x) for x in of] for name, of in LIMITS.items()}
    leaving: set[str] = set()
    shifting: set[int] = set()
    for _ in range(SLOTS):
        target, stiffness = world.robot.target.copy(), world.robot.stiffness.copy()
        news = history.slot()
        shifting |= {e.command for e in news if isinstance(e, Commanded) and e.is_shift}
        done = {e.resource for e in news if isinstance(e, Executed)}
        safe = {x for e in news if isinstance(e, MadeSafe) for x in e.leaves}
        leaving |= {x for e in news if isinstance(e, Unshifted) for x in e.leaves}
        capped = {x for e in news if isinstance(e, Frozen | Thawed) for x in e.leaves}
        may_move = {j for x in done | safe | leaving for j in joints[x]}
        may_limit = {j for x in done | capped for j in joints[x]}
        limp = set(np.flatnonzero(world.robot.stiffness == 0.0).tolist())
        moved = set(np.flatnonzero(world.robot.target != target).tolist())
        stiffened = set(np.flatnonzero(world.robot.stiffness != stiffness).tolist())
        assert moved <= may_move | limp
        assert stiffened <= may_limit
        only_leaving = {j for x in leaving - done - safe for j in joints[x]}
        for joint in moved & only_leaving - limp:
            step = abs(world.robot.target[joint] - target[joint])
            assert step <= LEAVING_RATE * world.ledger.cfg.tick_s + 1e-12
    assert not world.checker.finish()
    refused = {e.command for e in world.told(Rejected)}
    assert refused
    assert not refused & {e.command for e in world.told(Executed)}
    assert history.calls > 100


@pytest.mark.requirement("I-14")
def test_random_histories_pass_and_fail_at_every_entry_point(nao: Robot) -> None:
    """Coverage check of the histories above."""
    passed: set[tuple[str, bool]] = set()
    for seed in range(2):
        history = History(nao, seed)
        for _ in range(SLOTS):
            history.slot()
        asked = {e.command: e for e in history.world.told(Commanded)}
        for kind, events in (
            (True, history.world.told(Executed)),
            (False, history.world.told(Rejected)),
        ):
            for event in events:
                command = asked[event.command]
                entry_point = "limit" if command.resource in LIMITS else "motor"
                passed.add(("shift" if command.is_shift else entry_point, kind))
    assert passed == {
        (entry_point, kind)
        for entry_point in ("shift", "limit", "motor")
        for kind in (True, False)
    }
