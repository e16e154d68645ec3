"""Action selection by emotions, drives and learning [CN1396856, fig. 5 to 8].

`automaton` proposes behaviours and learns from feedback. `switch` selects a proposal
and updates emotions and drives (`Strengths`). `behaviour_models` reads both from data.
`arbitration_by` applies the selection to the children of a schema.
"""

from nao_testbed.controllers.action_selection.automaton import (
    Arc,
    Automaton,
    BehaviourModel,
    Lesson,
    NodeRow,
    RowCondition,
    Stimulus,
    reinforce,
)
from nao_testbed.controllers.action_selection.behaviour_models import (
    actions_of,
    read_models,
)
from nao_testbed.controllers.action_selection.switch import (
    DRIVES,
    EMOTIONS,
    Changes,
    Proposal,
    Strengths,
    Switch,
    arbitration_by,
)

__all__ = [
    "DRIVES",
    "EMOTIONS",
    "Arc",
    "Automaton",
    "BehaviourModel",
    "Changes",
    "Lesson",
    "NodeRow",
    "Proposal",
    "RowCondition",
    "Stimulus",
    "Strengths",
    "Switch",
    "actions_of",
    "arbitration_by",
    "read_models",
    "reinforce",
]
