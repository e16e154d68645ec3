"""Result of a scenario: a verdict for each expectation, and the end of the run.

Written as the JSON of `--json` (`ScenarioResult.as_json`) and as JUnit XML for
continuous integration (`junit_xml`): a suite per scenario, a case per expectation, and
a case for the completion of the run.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from nao_testbed.experiments.scenarios.playing.tracking import Tracking
from nao_testbed.experiments.scenarios.vocabulary.judge import Verdict

SCENARIO_FILE, TIMELINE = "scenario.json", "timeline.svg"
"""Files of the run folder: the result as JSON, and the timeline as a figure."""


@dataclass(frozen=True, kw_only=True)
class RunFailure:
    """Failure in a run, intended by the scenario or not."""

    time_s: float
    """Simulated time in s."""
    what: str
    """Subject and reason of the failure."""


@dataclass(frozen=True, kw_only=True)
class ScenarioResult:
    """Result of a whole run."""

    name: str
    file: str
    seed: int
    controller: str
    verdicts: tuple[Verdict, ...]
    failures: tuple[RunFailure, ...]
    """Failed behaviours, refused or aborted commands, requests without a grant. They do
    not violate an expectation by themselves."""
    fell: bool
    failure: str | None
    """First failure, such as an event that could not be executed, or the reason of an
    early end, such as a diverged simulation; None: no failure."""
    sim_s: float
    wall_s: float
    trace_hash: str
    """SHA-256 of the robot's true state, every 20 ms, and of its trace without commands
    and items, which occur in every slot. The same seed gives the same hash, with or
    without proof."""
    whole_trace_hash: str | None
    """Hash with commands and items; None without proof, which does not emit them."""
    n_events: int
    """Number of events in the trace."""
    max_degc: dict[str, float]
    """Highest true temperature by joint."""
    tracking: Tracking = field(default_factory=Tracking)
    """Tracking errors of the joints."""
    folder: str | None = None
    is_whole: bool = False
    """True if the whole duration was simulated, even with failures."""
    never_acted: dict[str, str] = field(default_factory=dict)
    """Reason for each behaviour that never acted."""

    @property
    def failure_text(self) -> str:
        """Text with the first failure and the run's continuation; empty without one."""
        if self.failure is None:
            return ""
        return f"{'failed' if self.is_whole else 'ended early'}: {self.failure}"

    @property
    def all_hold(self) -> bool:
        """Return True if every expectation holds and the run was completed."""
        return self.failure is None and all(v.holds for v in self.verdicts)

    @property
    def complaints(self) -> tuple[str, ...]:
        """Return a sentence for each failed criterion, with file and line."""
        said = [one.complaint(self.file) for one in self.verdicts if not one.holds]
        if self.failure is not None:
            said.append(f"{self.file}: the run failed: {self.failure}.")
        return tuple(said)

    @property
    def properties(self) -> dict[str, str]:
        """Return the properties of the run for a test report, by name."""
        joint, degc = max(
            self.max_degc.items(), key=lambda item: item[1], default=("", 0.0)
        )
        return {
            "controller": self.controller,
            "seed": str(self.seed),
            "simulated_s": f"{self.sim_s:g}",
            "fell": str(self.fell),
            "hottest": joint,
            "hottest_degc": f"{degc:.1f}",
            "trace": self.trace_hash,
        }

    @property
    def verdict_summary(self) -> str:
        """Number of expectations that hold, and the result of the invariants."""
        return verdict_summary([(one.line, one.holds) for one in self.verdicts])

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object of `--json`."""
        return {"experiment": "scenario", **asdict(self), "all_hold": self.all_hold}


def verdict_summary(verdicts: Sequence[tuple[int | None, bool]]) -> str:
    """Return the number of expectations that hold, and the result of the invariants.

    Args:
        verdicts: line in the file, None for an invariant, and True if it holds.
    """
    own = [holds for line, holds in verdicts if line]
    held = sum(own)
    words = f"{held} of {len(own)} expectations hold" if own else ""
    proofs = [holds for line, holds in verdicts if not line]
    if not proofs:
        return words or "no expectations"
    if all(proofs):
        rest = ", and the invariants" if held == len(own) else "; the invariants hold"
        return words + rest if words else "the invariants hold"
    return f"{words}; an invariant is broken" if words else "an invariant is broken"


_ILLEGAL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ENDS = "the run completes"


def junit_xml(results: Sequence[ScenarioResult], not_run: Sequence[Path] = ()) -> str:
    """Return the results as JUnit XML.

    Args:
        results: results of the runs, in their order.
        not_run: files that were not run because the command was interrupted.
    """
    root = ET.Element("testsuites", name="nao-testbed scenario run")
    runs = Counter(result.file for result in results)
    for result in results:
        is_one = runs[result.file] == 1
        name = result.name if is_one else f"{result.name}, {result.controller}"
        root.append(_suite(result, _text(name)))
    for path in not_run:
        suite = ET.SubElement(root, "testsuite", name=path.stem, file=str(path))
        case = ET.SubElement(suite, "testcase", classname=path.stem, name=ENDS)
        ET.SubElement(case, "skipped", message="not run: the command was stopped")
    for suite in root:
        _count(suite)
    _count(root)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=False)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(result: ScenarioResult, name: str) -> ET.Element:
    suite = ET.Element("testsuite", name=name, file=_text(result.file))
    suite.set("time", f"{result.wall_s:.3f}")
    properties = ET.SubElement(suite, "properties")
    for key, value in result.properties.items():
        ET.SubElement(properties, "property", name=key, value=_text(value))
    for verdict in result.verdicts:
        case = _case(suite, result, verdict.expectation, verdict.line)
        if not verdict.holds:
            _add(case, "failure", verdict.complaint(result.file))
    ended = _case(suite, result, ENDS, 0)
    if result.failure is not None:
        _add(ended, "error", result.failure)
    return suite


def _case(
    suite: ET.Element, result: ScenarioResult, name: str, line: int
) -> ET.Element:
    """Add a case; line numbers distinguish expectations with the same text."""
    said = f"line {line}: {name}" if line else name
    case = ET.SubElement(suite, "testcase", name=_text(said), time="0")
    case.set("classname", suite.get("name", ""))
    case.set("file", _text(result.file))
    if line:
        case.set("line", str(line))
    return case


def _add(case: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(case, tag, message=_text(text)).text = _text(text)


def _count(element: ET.Element) -> None:
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped",) * 2):
        found = sum(case.find(tag) is not None for case in cases)
        element.set(name, str(found))


def _text(text: str) -> str:
    """Return the text without characters that XML does not allow."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
