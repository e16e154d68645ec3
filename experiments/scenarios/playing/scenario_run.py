"""What came of a run of a scenario, for verdicts and figures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.resources.trace import Event
from experiments.scenarios.plan.events import ScenarioEvent
from experiments.scenarios.plan.scenario import Scenario
from experiments.scenarios.playing.result import ScenarioResult

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ScenarioRun:
    """A run that is over."""

    scenario: Scenario
    result: ScenarioResult
    events: Sequence[Event]
    """The trace, without what happens in every slot (`trace_keeper.MANY`)."""
    happened: tuple[tuple[int, ScenarioEvent], ...]
    """Events of the scenario with the slots in which they took place."""
    times_s: FloatArray
    """(n,) of the samples, in s."""
    degc: FloatArray
    """(n, n_joints) true temperatures of the joints' motors, in °C."""


class RunStopped(KeyboardInterrupt):
    """A run was stopped from outside, by Ctrl-C or a signal; its data are kept."""

    def __init__(self, why: str, run: ScenarioRun) -> None:
        """Say why.

        Args:
            why: for people.
            run: what came of it until then.
        """
        self.run = run
        super().__init__(why)
