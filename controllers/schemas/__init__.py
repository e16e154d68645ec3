"""Schemas: behaviours in a dynamic hierarchy [jdec-urjc].

`schema` is what to derive a behaviour from, `info` and `variables` what it declares,
`waking` how it is woken, `runtime` what runs it, `library` those that are there.
"""

from controllers.schemas.actuators import Actuators, ChildView, Playing
from controllers.schemas.declaration import (
    ARBITRATIONS,
    Kind,
    NoParameters,
    SchemaInfo,
    State,
    Variable,
    highest_order,
    keep_winner,
)
from controllers.schemas.schema import ActuationSchema, PerceptiveSchema, Schema
from controllers.schemas.waking import Waking

__all__ = [
    "ARBITRATIONS",
    "ActuationSchema",
    "Actuators",
    "ChildView",
    "Kind",
    "NoParameters",
    "PerceptiveSchema",
    "Playing",
    "Schema",
    "SchemaInfo",
    "State",
    "Variable",
    "Waking",
    "highest_order",
    "keep_winner",
]
