"""`*.scenario.yaml` files as tests, run in an inner pytest as by a user."""

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


def test_scenario_file_is_collected_as_a_test(pytester: pytest.Pytester) -> None:
    (pytester.path / "other.yaml").write_text("no: scenario", "utf-8")
    ran = run(pytester, "--junitxml=junit.xml", "-v", short=SHORT)
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["short.scenario.yaml::short PASSED*"])
    (case,) = ElementTree.parse(pytester.path / "junit.xml").iter("testcase")
    said = {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
    assert case.attrib["name"] == "short"
    assert (said["simulated_s"], said["fell"]) == ("0.2", "False")


def test_failed_expectation_is_reported_in_one_sentence(
    pytester: pytest.Pytester,
) -> None:
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


def test_scenario_files_can_be_selected_by_name(pytester: pytest.Pytester) -> None:
    ran = run(pytester, "-k", "one", one=SHORT, two=SHORT)
    ran.assert_outcomes(passed=1, deselected=1)
