"""Time limit of trials, after which their process is killed.

Otherwise a controller that never returns would block its worker and the sweep.
"""

from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome

MIN_S = 600.0
"""Shortest derived limit, in s."""
TIMES = 20.0
"""Ratio of the limit to the longest ended trial."""
FIRST_TIMES = 10.0
"""Limit before the first end of a trial, as wall time over simulated time."""


class TrialLimit:
    """Time limit of each trial: a given one, or one derived from the sweep.

    The derived limit is `TIMES` the longest trial so far, at least `MIN_S`.
    """

    def __init__(self, given_s: float | None = None) -> None:
        """Store the limit in s; None: derive it."""
        self._given_s = given_s
        self._longest_s = 0.0

    def of(self, trial: SweepTrial) -> float:
        """Return the limit of a trial, in s."""
        if self._given_s is not None:
            return self._given_s
        if self._longest_s > 0.0:
            return max(MIN_S, TIMES * self._longest_s)
        simulated_s = 60.0 * float(trial.parameters.get("minutes", 0.0))
        return MIN_S + FIRST_TIMES * simulated_s

    def note(self, outcome: TrialOutcome) -> None:
        """Register a trial that has ended by itself."""
        self._longest_s = max(self._longest_s, outcome.wall_s or 0.0)


def took_too_long(limit_s: float) -> TrialOutcome:
    """Return the outcome of a trial that was ended at its limit."""
    return TrialOutcome.lost(f"it exceeded its limit of {limit_s:g} s (--trial-limit).")
