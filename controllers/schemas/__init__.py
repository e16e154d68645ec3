"""Schemas: behaviours in a dynamic hierarchy [jdec-urjc].

`schema` is what to derive a behaviour from, `info` and `variables` what it declares,
`waking` how it is woken, `runtime` what runs it, `library` those that are there.
"""

from nao_testbed.controllers.schemas.actuators import Actuators, ChildView, Playing
from nao_testbed.controllers.schemas.declaration import (
    ARBITRATIONS,
    Kind,
    NoParameters,
    SchemaInfo,
    State,
    Variable,
    highest_order,
    keep_winner,
)
from nao_testbed.controllers.schemas.schema import (
    ActuationSchema,
    PerceptiveSchema,
    Schema,
)
from nao_testbed.controllers.schemas.waking import Waking

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
