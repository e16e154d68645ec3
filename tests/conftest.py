"""What makes all tests quicker.

`make test` leaves out what is marked `slow`: a second of a processor or more, dead
processes, signals, browsers, films, programs of NAOqi, examples, notebooks. What is
slow runs without coverage, which doubles the time of a simulation: the lines of a
closed loop are run by quick tests too, and a hundred thousand ticks of it tell coverage
nothing more. Where a slow test is alone with its lines, it says `slow(covers=True)`.
Runs that many tests read are recorded once for all processes
(`tests/experiments/common/recorded_runs.py`).
"""

import contextlib
import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import hypothesis
import pytest

import nao_testbed.sim.naoqi  # noqa: F401  # `qi` before Pinocchio
from tests import messages, without_engine

if TYPE_CHECKING:
    from nao_testbed.models import Robot

# That of `make test`: the first of the 100 cases that `ci` draws, the same each time.
hypothesis.settings.register_profile(
    "quick", hypothesis.settings.get_profile("ci"), max_examples=40
)

_FOR_CHILDREN = "COVERAGE_PROCESS_CONFIG"
"""Where coverage tells a child process to measure too."""


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what is there for all tests.

    Its long rounds would walk over a million objects: an eighth of the time of a
    search that makes many small ones.
    """
    gc.collect()
    gc.freeze()


def is_measured(item: pytest.Item) -> bool:
    """Return whether coverage looks at a test, its fixtures and its processes.

    Not at a process that is to end by a signal: the exception of the handler may come
    between the lines in which coverage takes and returns its lock, and then each later
    line waits for ever (coverage's issue 1892; 2 of 114 processes).
    """
    if item.get_closest_marker("scenario"):
        return False
    slow = item.get_closest_marker("slow")
    return slow is None or bool(slow.kwargs.get("covers"))


@contextlib.contextmanager
def unmeasured() -> Iterator[None]:
    """Let coverage rest, if it runs at all; here and in child processes."""
    running = coverage.Coverage.current()
    for_children = os.environ.pop(_FOR_CHILDREN, None)
    if running is not None:
        running.stop()
    try:
        yield
    finally:
        if running is not None:
            running.start()
        if for_children is not None:
            os.environ[_FOR_CHILDREN] = for_children


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if is_measured(item):
        return (yield)
    with unmeasured():
        return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Let signals reach the processes of tests, though a shell started us behind.

    The workers of xdist are told to warn of text without an encoding; the commands that
    tests start are not: libraries would print their warnings.
    """
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        os.environ.pop("PYTHONWARNDEFAULTENCODING", None)
    config.pluginmanager.register(messages)
    if without_engine.MISSING:
        config.pluginmanager.register(without_engine)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is not None and signal.getsignal(hang_up) is signal.SIG_IGN:
        signal.signal(hang_up, signal.SIG_DFL)  # as under nohup


@pytest.fixture(scope="session")
def nao() -> "Robot":
    from nao_testbed.models import load_robot

    return load_robot()


@pytest.fixture(scope="session")
def two_leg() -> "Robot":
    from nao_testbed.models import load_robot

    return load_robot(Path(__file__).parent / "data" / "two_leg")
