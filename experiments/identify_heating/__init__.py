"""The heating model from what was measured: a run folder or a CSV of temperatures.

    log = read_heat_log(Path("knee.csv"))
    for repair in log.repairs: ...  # what was wrong with the file, and what was done
    fit = fit_one_node(log.records)

Names are imported when they are first used, from where `__init__.pyi` says, so that the
command line stays quick.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
