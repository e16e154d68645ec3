"""Schemas: behaviours in a dynamic hierarchy [jdec-urjc].

`schema` is what to derive a behaviour from, `info` and `variables` what it declares,
`waking` how it is woken, `runtime` what runs it, `library` those that are there.
"""

from controllers.schemas.actuators import Actuators, Playing
from controllers.schemas.arbitration import ARBITRATIONS, highest_order, keep_winner
from controllers.schemas.info import NoParameters, SchemaInfo
from controllers.schemas.link import ChildView
from controllers.schemas.schema import ActuationSchema, PerceptiveSchema
from controllers.schemas.schema_base import Schema
from controllers.schemas.states import Kind, State
from controllers.schemas.variables import Variable
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
