"""Sweeps: one experiment over many robots, settings and controllers.

    SPEC.yaml -> spec_file -> spec -> engines -> trial_store -> sweep_table -> summary

A parameter stands in three places: `spec_file/__init__.py` (how it is written),
`spec_file/read_spec.py` (where it goes, which values it takes), `sweep_trial.py` (what
is done with it).
"""
