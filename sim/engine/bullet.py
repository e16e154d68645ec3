"""The engine library itself; no other module imports it.

    from sim.engine.bullet import p

It prints at import and while it loads: that is kept away from the output of a command.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


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


with dropped_output():  # it greets on stdout
    import pybullet as p

FloatArray = NDArray[np.float64]

ENGINE_VERSION = f"pybullet 3.2.7 (API {p.getAPIVersion()})"


def rotation_from_quaternion(quaternion: Sequence[float] | FloatArray) -> FloatArray:
    """Return the (3, 3) rotation matrix of a quaternion x y z w."""
    return np.array(p.getMatrixFromQuaternion(quaternion)).reshape(3, 3)


__all__ = ["ENGINE_VERSION", "p", "rotation_from_quaternion"]
