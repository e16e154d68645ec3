"""Where the bodies and their points are, in the base frame (part of step 620).

A point k with position r_k in the frame of its body is at

    p_k = o + r_x e_x + r_y e_y + r_z e_z,

o being the origin of the body and e_x, e_y, e_z its axes.
"""

from typing import Protocol

import numba
import numpy as np
import pinocchio as pin
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


class BodyPoint(Protocol):
    """A named point fixed to a link, such as a `models.ContactPoint`."""

    @property
    def name(self) -> str:
        """Name of the point."""

    @property
    def link(self) -> str:
        """Link that it is fixed to."""

    @property
    def position(self) -> tuple[float, float, float]:
        """Position in the link frame, in m."""


def view_placements(model: pin.Model, data: pin.Data) -> FloatArray:
    """Return the placements of all bodies as one view into Pinocchio's memory.

    Pinocchio keeps them one behind another, each as four vectors. To gather them one by
    one would cost more than to compute them. The view lives no longer than `data`.

    Returns:
        (njoints, 4, 3) axes e_x, e_y, e_z and origin o [m] of each body.

    Raises:
        RuntimeError: this Pinocchio lays them out in another way.
    """
    first = data.oMi[0].rotation
    size = first.itemsize
    view = as_strided(first, (model.njoints, 4, 3), (12 * size, 3 * size, size))
    for body, placement in enumerate(data.oMi):
        axes, origin = placement.rotation.T, placement.translation
        same = _is_same_memory(view[body, :3], axes)
        if not (same and _is_same_memory(view[body, 3], origin)):
            raise RuntimeError(
                "This version of Pinocchio keeps placements in another order than "
                "the one this module reads; install the version of requirements.lock."
            )
    return view


def _is_same_memory(a: FloatArray, b: FloatArray) -> bool:
    return a.ctypes.data == b.ctypes.data and a.strides == b.strides


@numba.njit(cache=True)
def place_points(
    placements: FloatArray, body_of_point: IndexArray, local: FloatArray
) -> FloatArray:
    """Return the positions p_k, (n_points, 3) in m.

    Args:
        placements: (n_bodies, 4, 3) as of `view_placements`.
        body_of_point: (n_points,) the body of each point.
        local: (n_points, 3) positions r_k in m.
    """
    position = np.empty(local.shape)
    for k in range(len(local)):
        e = placements[body_of_point[k]]
        x, y, z = local[k, 0], local[k, 1], local[k, 2]
        for i in range(3):
            position[k, i] = e[3, i] + (x * e[0, i] + y * e[1, i] + z * e[2, i])
    return position
