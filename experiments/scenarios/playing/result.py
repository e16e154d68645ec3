"""What came of a scenario: a verdict for each expectation, and how the run ended.

As `--json` has it (`ScenarioResult.as_json`), and as JUnit's XML, which continuous
integration shows (`junit_xml`): a suite a scenario, a case an expectation; that the run
came to its end is a case, too.
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
"""In the run folder: the result as JSON, and who did what when, as a figure."""


@dataclass(frozen=True, kw_only=True)
class RunFailure:
    """Something that went wrong, for whatever reason; a scenario may mean it to."""

    time_s: float
    """Simulated time in s."""
    what: str
    """Who or what, and why."""


@dataclass(frozen=True, kw_only=True)
class ScenarioResult:
    """A whole run."""

    name: str
    file: str
    seed: int
    controller: str
    verdicts: tuple[Verdict, ...]
    mishaps: tuple[RunFailure, ...]
    """Behaviours that failed, commands that were refused or cut off, requests that were
    not granted: they break no expectation by themselves."""
    fell: bool
    failure: str | None
    """What failed first, such as an event that could not take place, or why it ended
    early, such as a simulation that diverged; None: nothing did."""
    sim_s: float
    wall_s: float
    trace_hash: str
    """SHA-256 of the true state of the robot, each 20 ms, and of its trace without
    commands and items, of which there are some in every slot: the same seed gives the
    same one, with proof and without."""
    whole_trace_hash: str | None
    """With commands and items; None without proof, as they are not told then."""
    n_events: int
    """Length of the trace."""
    max_degc: dict[str, float]
    """Joint to its highest true temperature."""
    tracking: Tracking = field(default_factory=Tracking)
    """How closely joints followed their set-points."""
    folder: str | None = None
    is_whole: bool = False
    """Whether all of its time was simulated, whatever failed in it."""
    never_acted: dict[str, str] = field(default_factory=dict)
    """Behaviour that never acted to why it did not."""

    @property
    def failure_in_words(self) -> str:
        """What failed, and whether the run went on; empty if nothing did."""
        if self.failure is None:
            return ""
        return f"{'failed' if self.is_whole else 'ended early'}: {self.failure}"

    @property
    def all_hold(self) -> bool:
        """Whether every expectation holds and the run came to its end."""
        return self.failure is None and all(v.holds for v in self.verdicts)

    @property
    def complaints(self) -> tuple[str, ...]:
        """Say in a sentence each what was not as expected, with file and line."""
        said = [one.complaint(self.file) for one in self.verdicts if not one.holds]
        if self.failure is not None:
            said.append(f"{self.file}: the run failed: {self.failure}.")
        return tuple(said)

    @property
    def properties(self) -> dict[str, str]:
        """Return what a test report notes of a run, by name."""
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
    def verdicts_in_words(self) -> str:
        """How many of the file's expectations hold, and whether the invariants do."""
        return verdicts_in_words([(one.line, one.holds) for one in self.verdicts])

    def as_json(self) -> dict[str, Any]:
        """Return the contract of `--json`."""
        return {"experiment": "scenario", **asdict(self), "all_hold": self.all_hold}


def verdicts_in_words(verdicts: Sequence[tuple[int | None, bool]]) -> str:
    """Return how many expectations hold, and whether the invariants do.

    Args:
        verdicts: line in the file, none of an invariant, and whether it holds.
    """
    own = [holds for line, holds in verdicts if line]
    held = sum(own)
    words = f"{held} of {len(own)} expectations hold" if own else ""
    proofs = [holds for line, holds in verdicts if not line]
    if not proofs:
        return words or "nothing was expected"
    if all(proofs):
        rest = ", and the invariants" if held == len(own) else "; the invariants hold"
        return words + rest if words else "the invariants hold"
    return f"{words}; an invariant is broken" if words else "an invariant is broken"


_ILLEGAL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ENDS = "the run comes to its end"


def junit_xml(results: Sequence[ScenarioResult], not_run: Sequence[Path] = ()) -> str:
    """Return the text of the file.

    Args:
        results: of the runs, in their order.
        not_run: files whose turn did not come, since somebody stopped the command.
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
    """Add a case; two expectations of the same words are told apart by their lines."""
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
    """Return a text without what XML cannot hold."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
