"""The ground: an endless plane that may be slippery and may rise."""

import numpy as np
from numpy.typing import NDArray

from sim.engine.bullet import p, rotation_from_quaternion

FloatArray = NDArray[np.float64]


class Ground:
    """A plane through the world's origin."""

    def __init__(self, client: int, friction: float, slope_deg: float) -> None:
        """Lay it.

        Args:
            client: of PyBullet.
            friction: Coulomb coefficient.
            slope_deg: rises by this angle towards +x.
        """
        self._client = client
        self._friction = friction
        quaternion = _quaternion(slope_deg)
        self.normal = rotation_from_quaternion(quaternion)[:, 2].copy()
        """(3,) unit vector upwards, in the world."""
        shape = p.createCollisionShape(p.GEOM_PLANE, physicsClientId=client)
        self.body: int = p.createMultiBody(
            baseCollisionShapeIndex=shape,
            baseOrientation=quaternion,
            physicsClientId=client,
        )
        """Its number in the engine."""
        p.changeDynamics(
            self.body,
            -1,
            lateralFriction=friction,
            restitution=0.0,
            frictionAnchor=1,
            physicsClientId=client,
        )

    def change(self, friction: float, slope_deg: float) -> None:
        """Be another one from the next step on; units as at the start."""
        if friction != self._friction:
            p.changeDynamics(
                self.body, -1, lateralFriction=friction, physicsClientId=self._client
            )
            self._friction = friction
            self._renew_contacts()
        quaternion = _quaternion(slope_deg)
        p.resetBasePositionAndOrientation(
            self.body, (0.0, 0.0, 0.0), quaternion, physicsClientId=self._client
        )
        self.normal = rotation_from_quaternion(quaternion)[:, 2].copy()

    def _renew_contacts(self) -> None:
        """Let contacts with the ground be found anew: old ones keep their friction."""
        for group, mask in ((0, 0), (2, ~2)):  # nothing; then as every static body has
            p.setCollisionFilterGroupMask(
                self.body, -1, group, mask, physicsClientId=self._client
            )
            p.performCollisionDetection(physicsClientId=self._client)


def _quaternion(slope_deg: float) -> tuple[float, float, float, float]:
    half = -np.deg2rad(slope_deg) / 2.0  # nose up: minus about y
    return (0.0, float(np.sin(half)), 0.0, float(np.cos(half)))
