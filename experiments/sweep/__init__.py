"""Sweeps: one experiment over many robots, settings and controllers.

    SPEC.yaml -> form -> load -> trials -> engines -> store -> table -> summary

A parameter stands in four places: `form/sweep_file.py` (how it is written), `load.py`
(where it goes), `checks.py` (which values it takes), `trial.py` (what is done with it).
"""
