"""What a robot wants to do next [CN1396856, fig. 5 to 8] (SY-26).

`automaton` proposes, `switch` takes, `learning` and `levels` (emotions and drives) hear
what came of it. `arbitration_by` makes it the choice among the children of a schema.
"""

from controllers.motivation.automaton import Arc, Automaton, Condition, Row, Stimulus
from controllers.motivation.learning import Lesson, learnt
from controllers.motivation.levels import DRIVES, EMOTIONS, Levels
from controllers.motivation.read_models import actions_of, read_models
from controllers.motivation.switch import (
    BehaviourModel,
    Effects,
    Proposal,
    Switch,
    arbitration_by,
)

__all__ = [
    "DRIVES",
    "EMOTIONS",
    "Arc",
    "Automaton",
    "BehaviourModel",
    "Condition",
    "Effects",
    "Lesson",
    "Levels",
    "Proposal",
    "Row",
    "Stimulus",
    "Switch",
    "actions_of",
    "arbitration_by",
    "learnt",
    "read_models",
]
