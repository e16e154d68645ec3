"""A trial that hangs, crashes or exits fails alone, with its reason."""

import dataclasses
import signal
from pathlib import Path

import pytest

from nao_testbed.experiments.sweep.engines import MAX_DEATHS
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from nao_testbed.experiments.sweep.engines.trial_limit import MIN_S, TIMES, TrialLimit
from nao_testbed.experiments.sweep.sweep_trial import TrialOutcome
from nao_testbed.models.system import KILL
from tests.experiments.sweep.engines.fake_work import HANGS, trial
from tests.experiments.sweep.engines.test_engines import (
    PATIENCE_S,
    begun,
    is_gone,
    run,
    session,
    wait_until,
)
from tests.processes import send_to_all

LIMIT_S = 3.0
"""Above the time of an `echo`, also on a busy machine."""


@pytest.mark.slow(covers=True)
def test_a_hanging_trial_is_ended_and_others_continue(tmp_path: Path) -> None:
    """Every second trial hangs in a different way, on two workers."""
    how = dict(zip(range(1, 99, 2), HANGS, strict=False))
    trials = (
        trial(n, f"hang:{how[n]}" if n in how else "echo", tmp_path) for n in range(11)
    )
    with JoblibEngine(2, limit_s=LIMIT_S) as engine:
        told = {ran.number: outcome for ran, outcome in run(engine, trials)}
    assert sorted(told) == list(range(11))
    too_long = "it exceeded its limit of 3 s (--trial-limit)."
    for number, outcome in told.items():
        assert outcome.error == (too_long if number in how else None)
    started = int((tmp_path / "started").read_text("utf-8"))
    wait_until(lambda: is_gone(started))


@pytest.mark.slow(covers=True)
def test_process_errors_of_a_trial_are_its_failure(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A KeyboardInterrupt of a controller does not stop a sweep."""
    trials = [
        trial(0, "raise:KeyboardInterrupt"),
        trial(1, "exit:7"),
        trial(2, "crash"),
        trial(3),
    ]
    with JoblibEngine(1) as engine:
        told = {ran.number: outcome.error for ran, outcome in run(engine, iter(trials))}
    again = "run the sweep again to retry."
    its = "the process of its controller"
    assert told == {
        0: "controller 'raise:KeyboardInterrupt' raised KeyboardInterrupt: theirs.",
        1: f"{its} 'exit:7' ended {MAX_DEATHS} times (exit status 7); {again}",
        2: f"{its} 'crash' ended {MAX_DEATHS} times (SIGSEGV); {again}",
        3: None,
    }
    assert capfd.readouterr().err == ""


PARENT = """
from pathlib import Path
from nao_testbed.experiments.common.signals import install_stop_handlers
from nao_testbed.experiments.sweep.engines import MAX_DEATHS
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from tests.experiments.sweep.engines.fake_work import fake_work, trial
install_stop_handlers()
folder = Path({folder!r})
trials = (trial(n, "echo" if n < 2 else "hang:{how}", folder) for n in range(9))
try:
    with JoblibEngine(2) as engine:
        engine.run(trials, fake_work, lambda trial, _: print(trial.number, flush=True))
except KeyboardInterrupt as stop:
    print(type(stop).__name__)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "number", "said"),
    [
        ("swallow", signal.SIGINT, "KeyboardInterrupt"),
        ("c", signal.SIGTERM, "StoppedBySignal"),
    ],
)
def test_one_signal_ends_a_sweep_whose_trials_hang(
    tmp_path: Path, how: str, number: signal.Signals, said: str
) -> None:
    parent = session(PARENT.format(folder=str(tmp_path), how=how))
    try:
        wait_until(lambda: (tmp_path / "begun").exists() and len(begun(tmp_path)) == 4)
        lines = (tmp_path / "begun").read_text("utf-8").splitlines()
        workers = [int(line.split()[1]) for line in lines]
        parent.send_signal(number)
        out, err = parent.communicate(timeout=PATIENCE_S)
        assert (sorted(out.split()), err) == (["0", "1", said], "")
        wait_until(lambda: all(is_gone(pid) for pid in workers))
    finally:
        if parent.poll() is None:
            send_to_all(parent, KILL)


def test_the_default_time_limit_follows_finished_trials() -> None:
    limit = TrialLimit()
    first = trial(0)
    parameters = {**first.parameters, "minutes": 15.0}
    first = dataclasses.replace(first, parameters=parameters)
    assert limit.of(first) == MIN_S + 10.0 * 900.0
    limit.note(TrialOutcome(result=None, wall_s=1.0))
    assert limit.of(first) == MIN_S
    limit.note(TrialOutcome(result=None, wall_s=MIN_S))
    limit.note(TrialOutcome(result=None, wall_s=2.0))
    assert limit.of(first) == TIMES * MIN_S
    given = TrialLimit(given_s=5.0)
    given.note(TrialOutcome(result=None, wall_s=1000.0))
    assert given.of(first) == 5.0
