"""Schemas: behaviours in a dynamic hierarchy [jdec-urjc].

`schema` has the base classes of behaviours, `declaration` their declared properties,
`activation` their activation data, `runtime` the scheduler, `library` the built-in
schemas.
"""

from nao_testbed.controllers.schemas.activation import Activation
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

__all__ = [
    "ARBITRATIONS",
    "Activation",
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
    "highest_order",
    "keep_winner",
]
