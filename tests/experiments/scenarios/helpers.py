"""Types that the tests of scenario files share."""

from collections.abc import Callable

from nao_testbed.experiments.scenarios.scenario import Scenario

Load = Callable[[str], Scenario]
"""Loads a text after a head of three lines: name, about, a length of 10 s."""
HEAD = "name: test\nabout: A test.\nduration_s: 10\n"
