"""Waves: the motion `wave`, once or several times."""

from dataclasses import dataclass

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.move import Move, MoveParameters


@dataclass(frozen=True, kw_only=True)
class WaveParameters(MoveParameters):
    """What is played, and how often."""

    motion: str = "wave"
    """Name of a motion of the library."""


class Wave(Move):
    """Takes the right arm, or whatever the motion moves, and waves."""

    info = SchemaInfo(
        name="wave", about="Waves.", period_s=0.02, parameters=WaveParameters
    )
