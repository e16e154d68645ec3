"""The heating model from what was measured: a run folder or a CSV of temperatures.

    log = read_heat_log(Path("knee.csv"))
    for repair in log.repairs: ...  # what was wrong with the file, and what was done
    fit = fit_one_node(log.records)

Names are imported when they are first used, so that the command line stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.identify_heating.csv_log import CsvCfg, read_heat_log
    from experiments.identify_heating.heat_log import HeatLog, Repair
    from experiments.identify_heating.identified import IdentifyCfg, identify
    from experiments.identify_heating.run_log import heat_log_of_run
else:
    _HOMES = {
        "CsvCfg": "experiments.identify_heating.csv_log",
        "HeatLog": "experiments.identify_heating.heat_log",
        "IdentifyCfg": "experiments.identify_heating.identified",
        "Repair": "experiments.identify_heating.heat_log",
        "heat_log_of_run": "experiments.identify_heating.run_log",
        "identify": "experiments.identify_heating.identified",
        "read_heat_log": "experiments.identify_heating.csv_log",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        """Return the public names, for completion in a shell."""
        return sorted(__all__)


__all__ = [
    "CsvCfg",
    "HeatLog",
    "IdentifyCfg",
    "Repair",
    "heat_log_of_run",
    "identify",
    "read_heat_log",
]
