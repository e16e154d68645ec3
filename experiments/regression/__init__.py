"""Regression kit: a pytest plug-in for tests of controllers.

    @pytest.mark.standing(controller="mine", misalignment_deg={"LAnklePitch": 2.0})
    def test_mine(standing_trial, fixed_trial):
        standing_trial.stays_up()
        standing_trial.is_cooler_than(fixed_trial, by=0.3)

The plug-in comes with the package and is loaded by every pytest of the environment;
names are therefore imported on first use, from the modules in `__init__.pyi`.
docs/guides/regression_kit.md defines every assertion.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
