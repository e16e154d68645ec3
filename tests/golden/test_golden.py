"""The first seconds of the main experiment are those that were once looked at.

When a change of physics or control is meant: `python -m tests.golden.regenerate`.
"""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.heat.published import load_preset
from tests.golden.regenerate import (
    ATOL_Q,
    ATOL_TORQUE,
    COMMAND,
    CONTROLLERS,
    FOLDER,
    PRESET,
    describe,
    read,
    record,
)

ADVICE = f"If this change is meant, run `{COMMAND}` and look at its diff."


@pytest.mark.scenario
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_the_run_is_the_golden_one(controller: str) -> None:
    golden, now = read(controller), record(controller)
    assert now.columns == golden.columns
    assert_allclose(now.rows[:, 0], golden.rows[:, 0], rtol=0.0, atol=1e-9)
    for part, atol in (("q", ATOL_Q), ("motor_torque", ATOL_TORQUE)):
        assert_allclose(
            now.part(part),
            golden.part(part),
            rtol=0.0,
            atol=atol,
            err_msg=f"{controller}: {part}. {ADVICE}",
        )


@pytest.mark.scenario
def test_a_twentieth_of_a_degree_is_not_golden() -> None:
    """The tolerance is small enough to see a change that matters."""
    angle = load_preset(PRESET).misalignment_deg["LAnklePitch"]
    changed = record("fixed", {"LAnklePitch": angle + 0.05})
    golden = read("fixed")
    error = np.abs(changed.part("motor_torque") - golden.part("motor_torque"))
    assert error.max() > 2.0 * ATOL_TORQUE
    error = np.abs(changed.part("q") - golden.part("q"))
    assert error.max() > 2.0 * ATOL_Q


def test_what_stands_beside_the_traces_is_true() -> None:
    """The file says the command, tolerances and reason that the test uses."""
    said = json.loads((FOLDER / "golden.json").read_text(encoding="utf-8"))
    expected = describe()
    assert set(said.pop("versions")) == set(expected.pop("versions"))  # type: ignore[call-overload]
    assert said == expected


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_the_traces_are_whole(controller: str) -> None:
    golden = read(controller)
    assert golden.rows.shape == (30, 1 + 26 + 25)
    assert np.isfinite(golden.rows).all()
    assert golden.part("q").shape == (30, 26)
    assert golden.part("motor_torque").shape == (30, 25)
