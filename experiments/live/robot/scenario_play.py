"""Scenario in real time with its behaviours; a person may intervene.

Without requests of the person, it equals `nao-testbed scenario run` slot for slot. At
its end its expectations are evaluated, and the robot continues.
"""

import sys
import time
from dataclasses import replace

from rich.console import Console

from nao_testbed.experiments.common.options import json_text
from nao_testbed.experiments.live.robot.operator import OPERATOR
from nao_testbed.experiments.live.scenario_cfg import ScenarioCfg
from nao_testbed.experiments.scenarios.playing.result import SCENARIO_FILE
from nao_testbed.experiments.scenarios.playing.runner import (
    ScenarioRunner,
    open_recording,
)
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS, load_scenario
from nao_testbed.experiments.scenarios.scenario import Scenario
from nao_testbed.experiments.scenarios.tables import verdict_table
from nao_testbed.models import BadInput
from nao_testbed.models.files import write_text


def load_plan(cfg: ScenarioCfg) -> Scenario:
    """Load a scenario and apply the options.

    Raises:
        FileErrors: all errors in the file.
        BadInput: the file does not exist, or a behaviour has the operator's name.
    """
    plan = load_scenario(SCENARIOS.find(cfg.scenario))
    if any(one.path == OPERATOR for one in plan.walk()):
        raise BadInput(
            f"scenario {cfg.scenario} has a behaviour {OPERATOR!r}, the name of "
            "the page's operator; rename it."
        )
    seed = plan.seed if cfg.seed is None else cfg.seed
    preemption = cfg.preemption or plan.ledger.preemption
    return replace(
        plan,
        controller=cfg.controller or plan.controller,
        seed=seed,
        simulation=replace(plan.simulation, seed=seed),
        ledger=replace(plan.ledger, preemption=preemption),
    )


class ScenarioPlay:
    """Scenario slot by slot; recorded, evaluated at its end."""

    def __init__(self, cfg: ScenarioCfg) -> None:
        """Build the scenario and start its recording; raises as `load_plan`."""
        plan = load_plan(cfg)
        self._folder = cfg.folder
        self._plan, self.recording = open_recording(
            plan, cfg.folder, proves=False, command=cfg.command
        )
        self._runner = ScenarioRunner(self._plan, self.recording, None)
        self._begin = time.perf_counter()
        self._is_closed = False
        self._n_reported = 0
        self._failure: str | None = None
        self.setup = self._runner.setup
        self.controller = plan.controller
        self.messages: list[str] = [f"scenario {plan.name}: {plan.duration_s:g} s"]
        """Events to be reported."""

    @property
    def busy(self) -> str:
        """Reason against a forecast now: future actions of the scenario are unknown."""
        is_over = self.setup.tick >= self._plan.duration_ticks
        return "" if is_over else "before the end of the scenario"

    def slot(self) -> None:
        """Run one device slot.

        Raises:
            SimulationDiverged: a torque is not finite.
        """
        runner, tick = self._runner, self.setup.tick
        if tick >= self._plan.duration_ticks:
            runner.go_on(tick)
            return
        runner.slot(tick)
        if len(runner.happened) > self._n_reported:
            self.messages += [
                one.text for _, one in runner.happened[self._n_reported :]
            ]
            self._n_reported = len(runner.happened)
        if runner.failure != self._failure:
            self._failure = runner.failure
            self.messages.append(f"failed: {self._failure}")
        if tick + 1 == self._plan.duration_ticks:
            self._judge()

    def close(self, reason: str) -> None:
        """Close the recording with the reason, and release the engine."""
        if self._is_closed:
            return
        self._is_closed = True
        if self.setup.tick < self._plan.duration_ticks:
            time_s, all_s = self.setup.body.time_s, self._plan.duration_s
            self._runner.fail(f"stopped at {time_s:.1f} s of {all_s:g} s")
            self._judge()
        self.recording.close(reason)
        self._runner.save_sound(self._folder)
        self._runner.close()

    def _judge(self) -> None:
        """Report the verdicts on the terminal, on the page and in `scenario.json`."""
        wall_s = time.perf_counter() - self._begin
        result = self._runner.judge(self._folder, wall_s).result
        width = None if sys.stderr.isatty() else 100
        Console(file=sys.stderr, width=width).print(verdict_table(result))
        broken = [one for one in result.verdicts if not one.holds]
        self.messages.append(
            f"scenario ended: {result.verdict_summary}"
            + "".join(f"; failed: {one.expectation} ({one.seen})" for one in broken)
        )
        if self._folder is not None:
            text = json_text(result.as_json())
            write_text(self._folder / SCENARIO_FILE, text + "\n")
