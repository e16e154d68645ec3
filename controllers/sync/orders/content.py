"""What an output command may put out."""

from models.library import LightPattern, Motion, Sound

Content = tuple[Motion, ...] | LightPattern | Sound
"""Motions that follow each other, a light pattern, or a sound."""

STAY = "stay"
"""Name of no motions: the way to where the robot is."""


def name_of(content: Content) -> str:
    """Return the name by which its data are known: of motions, all their names."""
    if isinstance(content, tuple):
        return ", ".join(motion.name for motion in content) or STAY
    return content.name
