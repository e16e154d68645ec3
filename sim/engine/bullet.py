"""The engine library itself; no other module imports it.

    from sim.engine.bullet import p

It prints at import and while it loads: that is kept away from the output of a command.
"""

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator

from sim.engine.interface import EngineMissing


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send what C code prints on descriptor 1 to descriptor 2 for a while.

    PyBullet prints its build time at import, its loader prints while it reads a
    URDF: both would break `--json -`.
    """
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


@contextlib.contextmanager
def dropped_output() -> Iterator[None]:
    """Drop what C code prints on descriptors 1 and 2 for a while."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for descriptor in (*saved, null):
            os.close(descriptor)


try:
    with dropped_output():  # it greets on stdout
        import pybullet as p
except ImportError as error:
    raise EngineMissing(
        "engine 'pybullet' needs the library PyBullet, which is not installed; use "
        "engine mujoco, or run: pip install pybullet-arm64 (has wheels for Python 3.11 "
        "to 3.13, but not for Linux on ARM)."
    ) from error


def _release() -> str:
    """Return name and version of the package that was imported."""
    for name in ("pybullet-arm64", "pybullet"):  # a fork, and what it is a fork of
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return f"{name} {importlib.metadata.version(name)}"
    return "pybullet"


ENGINE_VERSION = f"{_release()} (API {p.getAPIVersion()})"

__all__ = ["ENGINE_VERSION", "p"]
