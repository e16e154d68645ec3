"""Sweeps with known outcomes, and the page of one of them."""

from pathlib import Path

import pytest

from nao_testbed.experiments.report.write import ReportCfg, write_report
from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from tests.experiments.report.conftest import MARKUP
from tests.experiments.sweep.files import spec_of
from tests.experiments.sweep.outcomes import PAIRS, heat


def heat_or_error(trial: SweepTrial) -> TrialOutcome:
    """Like `heat`, but one trial fails with a reason that looks like markup."""
    if (trial.robot, trial.controller) == (1, "smart") and trial.number % 6 == 1:
        return TrialOutcome.lost(f"BadInput: {MARKUP}")
    return heat(trial)


@pytest.fixture(scope="session")
def sweep_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sweep of thirty trials: two fell, one has no result."""
    folder = tmp_path_factory.mktemp("sweep")
    run_sweep(spec_of(folder, PAIRS), folder / "pairs", work=heat_or_error)
    return folder / "pairs"


@pytest.fixture(scope="session")
def sweep_page(sweep_folder: Path) -> Path:
    return write_report(ReportCfg(runs=(sweep_folder,)))
