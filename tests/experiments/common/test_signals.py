"""Signals that are deferred and raised at a safe place."""

import signal
import time

import pytest

from nao_testbed.experiments.common.signals import (
    GRACE_S,
    KILL_S,
    PATIENCE_S,
    StoppedBySignal,
    deferred_signals,
    install_stop_handlers,
)


def test_signal_is_deferred_until_the_next_check() -> None:
    reached = []

    def work() -> None:
        with deferred_signals() as check:
            check()
            signal.raise_signal(signal.SIGINT)
            reached.append("after the signal")
            check()
            reached.append("after the check")

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == ["after the signal"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_first_unchecked_signal_is_raised_at_the_end() -> None:
    def work() -> None:
        with deferred_signals():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGTERM)
    install_stop_handlers()
    try:
        with pytest.raises(StoppedBySignal, match="SIGTERM"):
            work()
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("sent_again", [True, False])
def test_blocked_code_is_interrupted(sent_again: bool) -> None:
    def work() -> None:
        with deferred_signals(60.0 if sent_again else 0.05):
            signal.raise_signal(signal.SIGINT)
            if sent_again:
                signal.raise_signal(signal.SIGINT)
            time.sleep(30.0)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        work()
    assert time.monotonic() - begin < 20.0


def test_no_reminder_is_raised_after_the_block() -> None:
    with pytest.raises(KeyboardInterrupt), deferred_signals(0.05):
        signal.raise_signal(signal.SIGINT)
    time.sleep(0.2)  # a pending reminder would be raised here


def test_process_is_killed_within_ten_seconds_of_a_signal() -> None:
    """Sum of the documented limits, without the machine's own delays."""
    assert min(PATIENCE_S, GRACE_S, KILL_S) > 0.0
    assert PATIENCE_S + GRACE_S + KILL_S < 10.0
