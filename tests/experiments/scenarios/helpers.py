"""Types that the tests of scenario files share."""

from collections.abc import Callable

from nao_testbed.experiments.scenarios.scenario import Scenario

Load = Callable[[str], Scenario]
"""Load a text below a header of three lines: name, about, duration of 10 s."""
HEAD = "name: test\nabout: A test.\nduration_s: 10\n"
