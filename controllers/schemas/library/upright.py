"""Stands, sits, crouches: `go to posture` under the names that people use."""

from dataclasses import dataclass

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.go_to_posture import GoToPosture, GoToPostureParameters


@dataclass(frozen=True, kw_only=True)
class StandParameters(GoToPostureParameters):
    """Where to, and how exactly."""

    posture: str = "Stand"


@dataclass(frozen=True, kw_only=True)
class SitParameters(GoToPostureParameters):
    """Where to, and how exactly."""

    posture: str = "Sit"


@dataclass(frozen=True, kw_only=True)
class CrouchParameters(GoToPostureParameters):
    """Where to, and how exactly."""

    posture: str = "Crouch"


class Stand(GoToPosture):
    """Stands up, or stands as it should."""

    info = SchemaInfo(
        name="stand", about="Stands up.", period_s=0.02, parameters=StandParameters
    )


class Sit(GoToPosture):
    """Sits down."""

    info = SchemaInfo(
        name="sit", about="Sits down.", period_s=0.02, parameters=SitParameters
    )


class Crouch(GoToPosture):
    """Crouches."""

    info = SchemaInfo(
        name="crouch", about="Crouches.", period_s=0.02, parameters=CrouchParameters
    )
