"""What a robot can do by heart: motions, lights, sounds, and what starts them.

Five databases [CN1396856, fig. 11 and 17]: commands (DB1), transitions between postures
(DB2), motions (DB3), light patterns (DB4), sounds (DB5).
"""

from models.library.command import Order, Transition, Unit
from models.library.library import Library
from models.library.light import LightPattern, LightStep
from models.library.motion import Interpolation, Motion, Track
from models.library.sound import Sound

__all__ = [
    "Interpolation",
    "Library",
    "LightPattern",
    "LightStep",
    "Motion",
    "Order",
    "Sound",
    "Track",
    "Transition",
    "Unit",
]
