"""Judge how often something happened to an owner."""

from collections import Counter

from controllers.resources.tokens import TokenId
from controllers.resources.trace import Event, Executed, Granted, Notified, Rejected
from controllers.resources.words import NoticeKind
from experiments.scenarios.plan.expectations import Count, Counts
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.judges.seam import say
from experiments.scenarios.playing.result import Verdict
from experiments.scenarios.playing.stage import Stage


class CountsJudge:
    """Counts events of one owner; commands belong to him whose token they carry."""

    hears = True

    def __init__(self, expectation: Counts) -> None:
        """Begin at 0."""
        self.expectation = expectation
        self._tokens: set[TokenId] = set()
        self._counted: Counter[str] = Counter()

    def hear(self, event: Event) -> None:
        """Count."""
        owner = self.expectation.owner
        match event:
            case Granted() if event.owner == owner:
                self._tokens.add(event.token)
                self._counted["granted"] += 1
            case Notified() if event.owner == owner:
                self._counted["demanded"] += event.kind is NoticeKind.DEMANDED
            case Executed():
                self._counted["executed"] += event.token in self._tokens
            case Rejected():
                self._counted["refused"] += event.token in self._tokens

    def look(self, facts: Facts, stage: Stage) -> None:
        """Nothing: only events count."""

    def verdict(self) -> Verdict:
        """Compare each count that is expected."""
        holds, seen = True, []
        for name in ("executed", "refused", "granted", "demanded"):
            expected: Count | None = getattr(self.expectation, name)
            if expected is None:
                continue
            n = self._counted[name]
            highest = n if expected.highest is None else expected.highest
            holds &= expected.lowest <= n <= highest
            seen.append(f"{n} {name}")
        return say(self.expectation, holds=holds, seen=", ".join(seen))
