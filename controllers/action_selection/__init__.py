"""What a robot wants to do next [CN1396856, fig. 5 to 8].

`automaton` proposes and learns from praise and scolding, `switch` takes, and emotions
and drives (`Strengths`) hear what came of it; `behaviour_models` reads all from data.
`arbitration_by` makes it the choice among the children of a schema.
"""

from nao_testbed.controllers.action_selection.automaton import (
    Arc,
    Automaton,
    BehaviourModel,
    Condition,
    Lesson,
    Row,
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
    "Condition",
    "Lesson",
    "Proposal",
    "Row",
    "Stimulus",
    "Strengths",
    "Switch",
    "actions_of",
    "arbitration_by",
    "read_models",
    "reinforce",
]
