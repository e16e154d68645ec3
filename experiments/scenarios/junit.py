"""Results of scenarios as JUnit's XML, which continuous integration shows.

A suite a scenario, a case an expectation; that the run came to its end is a case, too.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from experiments.scenarios.playing.result import ScenarioResult

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
