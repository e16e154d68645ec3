"""Sweeps: one experiment over many robots, settings and controllers.

    SPEC.yaml -> spec_file -> spec -> engines -> trial_store -> sweep_table -> summary

A parameter appears in three places: `spec_file/__init__.py` (its form),
`spec_file/read_spec.py` (its target and valid values), `sweep_trial.py` (its use).
"""
