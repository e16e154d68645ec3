"""The one room that speaks to PyBullet: a world, a ground, a robot.

Frames: everything that leaves this room is in the world frame (x forward, y left,
z up), link poses are those of the *link* frame and not of PyBullet's inertial frame,
quaternions are x y z w. Joint arrays follow `Robot.joints`.
"""

from sim.engine.bullet import ENGINE_VERSION, rotation_from_quaternion
from sim.engine.contact import Contact
from sim.engine.engine import Engine

__all__ = ["ENGINE_VERSION", "Contact", "Engine", "rotation_from_quaternion"]
