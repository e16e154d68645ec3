"""`*.scenario.yaml` are tests, in a pytest of its own as a user of the kit has it."""

from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]

SHORT = """\
name: short
about: One behaviour has the head for a moment.
duration_s: 0.2
behaviours: [{name: a, schema: example, needs: [HeadYaw]}]
expect:
  - {at_s: 0.1, holds: {HeadYaw: a}}
  - {never: {said: "Hello"}}
"""


def run(pytester: pytest.Pytester, *arguments: str, **files: str) -> pytest.RunResult:
    for name, text in files.items():
        (pytester.path / f"{name}.scenario.yaml").write_text(text, "utf-8")
    return pytester.runpytest_inprocess(
        "--strict-markers", "-Werror", "-p", "no:cacheprovider", *arguments
    )


def test_a_scenario_file_is_a_test(pytester: pytest.Pytester) -> None:
    (pytester.path / "other.yaml").write_text("no: scenario", "utf-8")
    ran = run(pytester, "--junitxml=junit.xml", "-v", short=SHORT)
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["short.scenario.yaml::short PASSED*"])
    (case,) = ElementTree.parse(pytester.path / "junit.xml").iter("testcase")
    said = {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
    assert case.attrib["name"] == "short"
    assert (said["simulated_s"], said["fell"]) == ("0.2", "False")


def test_what_does_not_hold_is_told_in_a_sentence(pytester: pytest.Pytester) -> None:
    broken = SHORT.replace("HeadYaw: a}", "HeadYaw: null}")
    ran = run(pytester, broken=broken, wrong=SHORT.replace("example", "exmple"))
    ran.assert_outcomes(failed=2)
    ran.stdout.fnmatch_lines(
        [
            "broken.scenario.yaml:6: not as expected: at_s: 0.1, holds: {HeadYaw: "
            "null}. Seen: HeadYaw is held by a.",
            "wrong.scenario.yaml:4: Schema 'exmple' is not in *Did you mean "
            "'example'?*",
        ]
    )
    ran.stdout.no_fnmatch_line("*Traceback*")
    ran.stdout.no_fnmatch_line("*plugin.py*")


def test_scenario_files_may_be_chosen_by_name(pytester: pytest.Pytester) -> None:
    ran = run(pytester, "-k", "one", one=SHORT, two=SHORT)
    ran.assert_outcomes(passed=1, deselected=1)
