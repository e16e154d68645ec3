"""Judge what is so in one slot: who holds, who waits, who runs, how the body stands."""

from collections.abc import Iterator, Mapping

import numpy as np

from controllers.resources.snapshot import ResourceRow, take_snapshot
from controllers.resources.trace import Event
from experiments.scenarios.plan.expectations import AtTime
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.judges.seam import say
from experiments.scenarios.playing.result import Verdict
from experiments.scenarios.playing.stage import Stage
from experiments.scenarios.playing.watches import is_held_by


class AtTimeJudge:
    """Looks once."""

    hears = False

    def __init__(self, expectation: AtTime) -> None:
        """Wait for its slot."""
        self.expectation = expectation
        self._wrong: list[str] | None = None

    def hear(self, event: Event) -> None:
        """Nothing: only the state counts."""

    def look(self, facts: Facts, stage: Stage) -> None:
        """Compare everything in the slot."""
        if facts.tick != self.expectation.tick:
            return
        rows = {row.name: row for row in take_snapshot(stage.ledger).resources}
        self._wrong = [
            *self._wrong_reservations(rows),
            *self._wrong_behaviours(stage),
            *self._wrong_posture(stage),
        ]

    def verdict(self) -> Verdict:
        """Say what was otherwise."""
        if self._wrong is None:
            return say(self.expectation, holds=False, seen="the run ended before")
        seen = "; ".join(self._wrong) or "as expected"
        return say(self.expectation, holds=not self._wrong, seen=seen)

    def _wrong_reservations(self, rows: Mapping[str, ResourceRow]) -> Iterator[str]:
        for leaf, expected in self.expectation.holders.items():
            users = rows[leaf].users
            if not is_held_by(users, expected):
                yield f"{leaf} is held by {', '.join(users) or 'nobody'}"
        for leaf, waiters in self.expectation.waiters.items():
            waiting = tuple(wait.owner for wait in rows[leaf].waiters)
            if waiting != waiters:
                yield f"for {leaf} wait {', '.join(waiting) or 'none'}"
        for state in self.expectation.states:
            if not rows[state].is_active:
                parent = rows[state].parent
                others = [
                    r.name for r in rows.values() if r.parent == parent and r.is_active
                ]
                yield f"state is {', '.join(others) or 'none'}, not {state}"

    def _wrong_behaviours(self, stage: Stage) -> Iterator[str]:
        for path in self.expectation.running:
            if not stage.schemas.may_act(path):
                yield f"{path} does not run"
        for path in self.expectation.not_running:
            if stage.schemas.may_act(path):
                yield f"{path} runs"

    def _wrong_posture(self, stage: Stage) -> Iterator[str]:
        name = self.expectation.posture
        if name is None:
            return
        robot = stage.robot
        error = np.rad2deg(stage.body.sim.truth().q - robot.posture(name).angles)
        worst = int(np.abs(error).argmax())
        if abs(error[worst]) > self.expectation.within_deg:
            yield (
                f"{robot.joint_names[worst]} is {error[worst]:+.1f}° off posture {name}"
            )
