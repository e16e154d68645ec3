from .golden import GoldenRun as GoldenRun
from .plugin import RunStanding as RunStanding
from .run_standing import run_standing_trial as run_standing_trial
from .setting import Push as Push
from .setting import StandingCfg as StandingCfg
from .standing_trial import StandingTrial as StandingTrial
