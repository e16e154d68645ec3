"""What an output command may put out."""

from models.library import LightPattern, Motion, Sound

Content = tuple[Motion, ...] | LightPattern | Sound
"""Motions that follow each other, a light pattern, or a sound."""
