from .golden import GoldenRun as GoldenRun
from .plugin import RunStanding as RunStanding
from .setting import Push as Push
from .setting import StandingCfg as StandingCfg
from .trial import Trial as Trial
from .trial_run import run_trial as run_trial
