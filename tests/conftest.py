"""What makes all tests quicker.

What is slow runs without coverage, which doubles the time of a simulation: the lines
of a closed loop are run by quick tests too, and a hundred thousand ticks of it tell
coverage nothing more. The library of the NAO, half a second of YAML, is read once.
"""

import contextlib
import os
from collections.abc import Generator, Iterator

import coverage
import pytest

_SLOW = ("slow", "scenario")
_NOTEBOOK = ".ipynb"
_FOR_CHILDREN = "COVERAGE_PROCESS_CONFIG"
"""Where coverage tells a child process to measure too."""


def is_measured(item: pytest.Item) -> bool:
    """Return whether coverage looks at a test, its fixtures and its processes."""
    if item.path.suffix == _NOTEBOOK:
        return False
    return not any(item.get_closest_marker(mark) for mark in _SLOW)


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


def pytest_collection() -> None:
    """Read it once; only now, as coverage runs by then."""
    from tests.library_once import LibraryOnce

    pytest.MonkeyPatch().setattr("models.loader.load_library", LibraryOnce())
