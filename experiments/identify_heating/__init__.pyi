from .csv_log import CsvCfg as CsvCfg
from .csv_log import read_heat_log as read_heat_log
from .heat_log import HeatLog as HeatLog
from .heat_log import Repair as Repair
from .identified import IdentifyCfg as IdentifyCfg
from .identified import identify as identify
from .run_log import heat_log_of_run as heat_log_of_run
