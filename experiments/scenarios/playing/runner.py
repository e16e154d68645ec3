"""Scenario runner: executes one robot slot by slot, with recording and verdicts.

    scenario = load_scenario(Path("greeting.yaml"))
    run = run_scenario(scenario, create_run_folder(Path("runs"), scenario.name))
    run.result.all_hold

The data of a run that stops early are stored with the reason.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import extract_tb

import numpy as np

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.closed_loop.controller_failure import ControllerFailed
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.common.signals import (
    PATIENCE_S,
    deferred_signals,
    is_stop_signal,
    stop_reason,
)
from nao_testbed.experiments.scenarios.playing.failures import (
    NeverActed,
    Proof,
    RunFailures,
)
from nao_testbed.experiments.scenarios.playing.result import ScenarioResult
from nao_testbed.experiments.scenarios.playing.trace_file import (
    TraceFile,
    TraceKeeper,
    WholeTrace,
)
from nao_testbed.experiments.scenarios.playing.tracking import TrackingMeter
from nao_testbed.experiments.scenarios.playing.triggers import FactFinder, Triggers
from nao_testbed.experiments.scenarios.scenario import Scenario
from nao_testbed.experiments.scenarios.vocabulary.events import HeatEvent, ScenarioEvent
from nao_testbed.experiments.scenarios.vocabulary.facts import Facts
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.experiments.shared_robot.behaviours import SlotsFailed
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedger
from nao_testbed.models import TestbedError
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body import SimulationDiverged
from nao_testbed.sim.effectors import save_sound
from nao_testbed.sim.robot import SimulationCfg


@dataclass(frozen=True, kw_only=True)
class ScenarioRun:
    """Finished run."""

    scenario: Scenario
    result: ScenarioResult
    events: Sequence[Event]
    """Trace without the events of every slot (`trace_keeper.MANY`)."""
    happened: tuple[tuple[int, ScenarioEvent], ...]
    """Events of the scenario with the slots in which they occurred."""
    times_s: FloatArray
    """(n,) sample times, in s."""
    degc: FloatArray
    """(n, n_joints) true temperatures of the joints' motors, in °C."""


class RunStopped(KeyboardInterrupt):
    """Run stopped by Ctrl-C or a signal; its data are stored."""

    def __init__(self, why: str, run: ScenarioRun) -> None:
        """Store reason and data.

        Args:
            why: reason, for display.
            run: the run up to the stop.
        """
        self.run = run
        super().__init__(why)


SAMPLE_TICKS = 50
"""Slots between two samples of the temperatures for the figure."""
PROGRESS_S = 0.2
"""Wall time between two reports of progress, in s."""


class ScenarioRunner:
    """One run: call `slot` repeatedly, or `play` once; `close` at the end."""

    def __init__(
        self,
        plan: Scenario,
        recording: RunRecording,
        proof: Proof | None,
        whole: WholeTrace | None = None,
        *,
        proves: bool = False,
    ) -> None:
        """Set up the run before any behaviour acts.

        Args:
            plan: the scenario.
            recording: recording of rows and events.
            proof: checker of the invariants; None: no checks.
            whole: writer of every line of the trace; None: no trace file.
            proves: True to include the hash of the whole trace in the result.

        Raises:
            BadInput: a value of the scenario cannot be used.
        """
        self._plan = plan
        self._recording = recording
        self._proof, self._proves = proof, proves
        self._keeper = TraceKeeper(self._write, whole)
        self._facts = Facts()
        self._judges = [one.judge(plan.tick_s) for one in plan.expectations]
        self._failures = RunFailures(plan.tick_s)
        self._idle = NeverActed(one.path for b in plan.behaviours for one in b.walk())
        listeners = [
            self._keeper.on_event,
            self._facts.on_event,
            self._failures.on_event,
            self._idle.on_event,
        ]
        listeners += [judge.on_event for judge in self._judges if judge.handles_events]
        if proof is not None:
            listeners.append(proof.on_event)
        self._setup = plan.set_up(listeners)
        self._finder = FactFinder(plan, self._setup)
        self._triggers = Triggers(plan.events)
        self._starts: dict[int, list[str]] = {}
        """Slot to behaviours to activate, in the order of the file."""
        for behaviour in plan.behaviours:
            if behaviour.start_tick is not None:
                self._starts.setdefault(behaviour.start_tick, []).append(behaviour.name)
        self._slots = 0
        """Number of finished slots."""
        self._failure: str | None = None
        self._fell = False
        self._samples: list[tuple[float, FloatArray]] = []
        self.happened: list[tuple[int, ScenarioEvent]] = []
        self._highest = self._setup.true_degc().copy()
        period_s = self._setup.control_ticks * plan.tick_s
        self._tracking = TrackingMeter(plan.robot, period_s)
        self._recorded: Observation | None = None
        """Last observation that was recorded together with its decision."""

    def play(
        self, folder: Path | None, on_time: Callable[[float], None] | None
    ) -> ScenarioRun:
        """Run to the end or until the run is stopped; release the engine.

        Raises:
            RunStopped: the run was interrupted; its data so far are stored and judged.
        """
        begin = time.perf_counter()
        stopped: KeyboardInterrupt | None = None
        try:
            try:
                with deferred_signals(PATIENCE_S) as check:
                    self._play_slots(on_time, check)
            except SimulationDiverged as error:
                self.fail(str(error))
                self._recording.save_last_second(self._setup.body.sim)
            except KeyboardInterrupt as stop:
                if is_stop_signal(stop):
                    stopped = stop
                    self.fail(stop_reason(stop))
                else:
                    last = extract_tb(stop.__traceback__)[-1]
                    place = f"{Path(last.filename).name}:{last.lineno}"
                    self.fail(
                        f"KeyboardInterrupt was raised at {place}; no signal came"
                    )
            run = self.judge(folder, time.perf_counter() - begin)
            self._recording.close(
                f"failed: {self._failure}" if self._failure else "done"
            )
            self.save_sound(folder)
        finally:
            self.close()
        if stopped is not None:
            raise RunStopped(str(self._failure), run) from stopped
        return run

    def _play_slots(
        self, on_time: Callable[[float], None] | None, check: Callable[[], None]
    ) -> None:
        reported = time.perf_counter()
        for tick in range(self._plan.duration_ticks):
            check()
            self.slot(tick)
            now = time.perf_counter()
            if on_time is not None and now - reported > PROGRESS_S:
                reported = now
                on_time(self._setup.body.time_s)

    def close(self) -> None:
        """Release the engine."""
        self._setup.close()

    @property
    def setup(self) -> Setup:
        """Objects of the run."""
        return self._setup

    @property
    def failure(self) -> str | None:
        """First failure; None without one."""
        return self._failure

    @property
    def body(self) -> RobotWithLedger:
        """Robot of the run."""
        return self._setup.body

    def save_sound(self, folder: Path | None) -> None:
        """Write the recorded sound, if any."""
        if folder is not None:
            body = self._setup.body
            save_sound(body.sim.speaker, folder, body.time_s)

    def slot(self, tick: int) -> None:
        """Execute the events of a slot, run the slot, and evaluate its facts."""
        setup, facts = self._setup, self._facts
        facts.clear(tick)
        self._slots = tick + 1
        for name in self._starts.get(tick, ()):
            setup.schemas.wake(name, tick)
        for event in self._triggers.due(tick):
            self._happen(event, tick)
        self._run_slot(tick)
        self._finder.find(facts)
        self._triggers.observe(facts)
        for judge in self._judges:
            judge.observe(facts, setup)
        self._fell = self._fell or facts.has_fallen
        self._record(tick)

    def go_on(self, tick: int) -> None:
        """Run a slot after the scenario's end: recorded but not judged."""
        self._run_slot(tick)
        self._record(tick)

    def _run_slot(self, tick: int) -> None:
        setup = self._setup
        setup.disturbance.begin(tick)
        try:
            setup.body.slot()
        except SlotsFailed as error:
            for failure in error.failures:
                if isinstance(failure.error, ControllerFailed):
                    self._recording.save_traceback(failure.error)
            self.fail(str(SlotsFailed(error.failures, error.count)))

    def _record(self, tick: int) -> None:
        if tick % self._setup.control_ticks == 0:
            self._row()
        if tick % SAMPLE_TICKS == 0:
            self._sample()

    def _happen(self, event: ScenarioEvent, tick: int) -> None:
        """Execute an event; an event that cannot be executed is a failure of the run.

        Temperatures are sampled before and after an event that sets them, so that no
        curve of the figure rises before the event.
        """
        time_s = round(tick * self._plan.tick_s, 6)
        self._recording.event("scenario event", time_s, text=event.text)
        self.happened.append((tick, event))
        if event.name is not None:
            self._facts.note_event(event.name)
        is_heat = isinstance(event, HeatEvent)
        if is_heat:
            self._sample()
        try:
            event.act(self._setup)
        except TestbedError as error:
            self.fail(f"event of line {event.line} at {time_s:.2f} s: {error}")
        if is_heat:
            self._sample()

    def fail(self, why: str) -> None:
        """Store the first failure; the run continues if possible."""
        self._recording.event("failed", self._setup.body.time_s, why=why)
        self._failure = self._failure or why

    def _write(self, kind: str, tick: int, fields: dict[str, object]) -> None:
        self._recording.event(kind, round(tick * self._plan.tick_s, 6), **fields)

    def _row(self) -> None:
        """Record the observation and the decision of the stiffness controller."""
        sim, stiffness = self._setup.body.sim, self._setup.stiffness
        self._keeper.add_state(
            sim.q,
            sim.v,
            *sim.engine.base_pose(),
            sim.motor_torque,
            sim.heating.temperature,
        )
        seen = stiffness.seen
        if seen is None or seen is self._recorded:  # the controller failed
            self._recording.row(sim, sim.read())
        else:
            self._recording.row(sim, seen, stiffness.decided)
            self._tracking.add(seen)
        self._recorded = seen

    def _sample(self) -> None:
        degc = self._setup.true_degc()
        np.maximum(self._highest, degc, out=self._highest)
        self._samples.append((self._setup.body.time_s, degc.copy()))

    def judge(self, folder: Path | None, wall_s: float) -> ScenarioRun:
        """Return the run so far, with its verdicts.

        Args:
            folder: folder of the run; None: it was not recorded.
            wall_s: duration in wall time, in s.
        """
        self._sample()
        plan, setup = self._plan, self._setup
        verdicts = [judge.judged() for judge in self._judges]
        if self._proof is not None:
            verdicts.append(self._proof.verdict())
        names = plan.robot.joint_names
        highest = plan.robot.largest_of_joint(self._highest).tolist()
        result = ScenarioResult(
            name=plan.name,
            file=str(plan.path),
            seed=plan.seed,
            controller=plan.controller,
            verdicts=tuple(verdicts),
            failures=tuple(self._failures.kept),
            fell=self._fell,
            failure=self._failure,
            sim_s=setup.body.time_s,
            wall_s=wall_s,
            trace_hash=self._keeper.hash,
            whole_trace_hash=self._keeper.whole_hash if self._proves else None,
            n_events=self._keeper.count,
            max_degc=dict(zip(names, highest, strict=True)),
            tracking=self._tracking.value,
            folder=str(folder) if folder else None,
            is_whole=self._slots == plan.duration_ticks,
            never_acted=dict(self._idle.why()),
        )
        times, degc = zip(*self._samples, strict=True)
        return ScenarioRun(
            scenario=plan,
            result=result,
            events=tuple(self._keeper.kept),
            happened=tuple(self.happened),
            times_s=np.array(times),
            degc=np.array(degc)[:, plan.robot.motors_of_joint].max(axis=2),
        )


@dataclass(frozen=True, kw_only=True)
class _Config:
    """Configuration of a scenario in `meta.json`."""

    controller: str
    file: str
    scenario: str
    """Text of the file."""
    simulation: SimulationCfg
    """Settings of the robot and the world in the file."""


def open_recording(
    scenario: Scenario,
    folder: Path | None,
    *,
    proves: bool,
    command: Sequence[str] = (),
) -> tuple[Scenario, RunRecording]:
    """Return the scenario to run and its recording; arguments as in `run_scenario`."""
    counts = any(one.counts_commands for one in scenario.expectations)
    ledger = replace(scenario.ledger, tells_commands=proves or counts)
    plan = replace(scenario, ledger=ledger)
    return plan, RunRecording.open(
        folder,
        plan.robot,
        seed=plan.seed,
        config=_Config(
            controller=plan.controller,
            file=str(plan.path),
            scenario=plan.text,
            simulation=plan.simulation,
        ),
        command=command,
        experiment="scenario",
        exact=True,
        with_leds=True,
    )


def run_scenario(
    scenario: Scenario,
    folder: Path | None = None,
    *,
    proves: bool = True,
    checks: bool = True,
    command: Sequence[str] = (),
    on_time: Callable[[float], None] | None = None,
) -> ScenarioRun:
    """Run a scenario to its end and judge it.

    Args:
        scenario: scenario to run.
        folder: empty folder for the run's rows, events and sound; None: no recording.
        proves: True: store the whole trace with every command; large for runs of many
            minutes.
        checks: True: check the invariants at every event of a whole trace.
        command: command line, stored in the run folder.
        on_time: function called with the simulated time in s at intervals.

    Raises:
        BadInput: a value of the scenario cannot be used; nothing was started.
        RunStopped: by Ctrl-C or a signal, after the run folder was closed.
    """
    plan, recording = open_recording(scenario, folder, proves=proves, command=command)
    whole = TraceFile(folder) if proves and folder is not None else None
    try:
        with recording.close_on_error():
            proof = Proof() if proves and checks else None
            with deferred_signals(PATIENCE_S):  # third-party code may hang
                runner = ScenarioRunner(plan, recording, proof, whole, proves=proves)
            return runner.play(folder, on_time)
    finally:
        if whole is not None:
            whole.close()
