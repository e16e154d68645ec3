"""One judge for each expectation: it looks on during the run and says a verdict."""

from collections.abc import Iterable

from experiments.scenarios.plan import expectations as e
from experiments.scenarios.playing.judges.at_time import AtTimeJudge
from experiments.scenarios.playing.judges.counts import CountsJudge
from experiments.scenarios.playing.judges.happens import HappensJudge
from experiments.scenarios.playing.judges.in_order import InOrderJudge
from experiments.scenarios.playing.judges.seam import Judge
from experiments.scenarios.playing.judges.starts_together import StartsTogetherJudge
from experiments.scenarios.playing.judges.temperatures import TemperaturesJudge

__all__ = ["Judge", "make_judges"]


def make_judges(
    expectations: Iterable[e.Expectation], tick_s: float
) -> tuple[Judge, ...]:
    """Return a judge for each expectation, in their order."""
    return tuple(_make(expectation, tick_s) for expectation in expectations)


def _make(expectation: e.Expectation, tick_s: float) -> Judge:
    match expectation:
        case e.AtTime():
            return AtTimeJudge(expectation)
        case e.Happens():
            return HappensJudge(expectation, tick_s)
        case e.InOrder():
            return InOrderJudge(expectation, tick_s)
        case e.Temperatures():
            return TemperaturesJudge(expectation, tick_s)
        case e.StartsTogether():
            return StartsTogetherJudge(expectation, tick_s)
        case e.Counts():
            return CountsJudge(expectation)
        case _:
            raise AssertionError(f"no judge for {type(expectation).__name__}")
