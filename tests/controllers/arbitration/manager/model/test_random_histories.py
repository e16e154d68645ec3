"""The ledger does what the sequential model says, in thousands of seeded histories.

Each history is a world (preemption, policies of six owners, times to live, how many
dead tokens are kept) and a dozen calls; after each call, ledger and model have said the
same, hold the same, and no invariant is broken. Many more:

    TESTBED_SOAK=100000 pytest -n auto tests/controllers/arbitration -k soak

A failure prints the shortest history that shows it.
"""

import pytest

from tests.controllers.arbitration.manager.model.random_histories import (
    history_of,
    shortest,
    why_it_fails,
)

SEEDS = 2_001
PARTS_OF_A_SOAK = 20
"""So that processes can share them (`-n`)."""
LENGTHS = (6, 12, 24)
"""Numbers of steps: short ones are read easily, long ones get further."""


def _judge(seeds: range) -> None:
    for seed in seeds:
        history = history_of(seed, LENGTHS[seed % len(LENGTHS)])
        if why_it_fails(history):
            least = shortest(history)
            steps = "\n".join(f"  {step}" for step in least.steps)
            pytest.fail(
                f"seed {seed}: {least.world}\n{steps}\n{why_it_fails(least)}",
                pytrace=False,
            )


@pytest.mark.slow
@pytest.mark.requirement(
    "RM-14",
    "RM-16",
    "RM-17",
    "RM-19",
    "RM-20",
    "RM-21",
    "RM-22",
    "RM-23",
    "RM-26",
    "RM-28",
    "RM-29",
    "RM-30",
    "RM-31",
    "RM-33",
    "RM-34",
    "RM-35",
    "RM-36",
    "RM-37",
    "RM-39",
    "RM-45",
    "RM-47",
    "RM-52",
    "RM-53",
    "RM-56",
    "AR-3",
    "AR-4",
    "AR-5",
    "AR-6",
    "AR-12",
    "AR-14",
    "AR-15",
    "AR-17",
    "AR-18",
    "AR-19",
    "AR-20",
    "AR-21",
    "AR-22",
    "AR-23",
    "AR-24",
    "AR-25",
    "AR-26",
    "AR-27",
)
@pytest.mark.parametrize("part", range(3))
def test_ledger_and_model_agree_in_every_seeded_history(part: int) -> None:
    _judge(range(part, SEEDS, 3))


@pytest.mark.requirement("RM-21")
@pytest.mark.parametrize("seed", [61_286, 72_580])
def test_histories_that_a_soak_once_found(seed: int) -> None:
    """Policies that call through each other without end; a wrong verdict on a token."""
    _judge(range(seed, seed + 1))


@pytest.mark.parametrize("part", range(PARTS_OF_A_SOAK))
def test_soak(soak: int, part: int) -> None:
    """With `TESTBED_SOAK=N`: N histories more, from the first seed not tested above."""
    _judge(range(SEEDS + part, SEEDS + soak, PARTS_OF_A_SOAK))
