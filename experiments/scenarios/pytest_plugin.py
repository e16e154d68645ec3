"""Pytest plug-in of scenarios: `*.scenario.yaml` files are tests.

Every pytest of the environment loads this module, so it imports nothing heavy; imports
for a test happen when it runs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_SCENARIO = ".scenario.yaml"


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> "CollectedScenario | None":
    """Collect a scenario file as a test."""
    if file_path.name.endswith(_SCENARIO):
        return CollectedScenario.from_parent(parent, path=file_path)
    return None


class CollectedScenario(pytest.File):
    """Scenario file: one test, since it is one run."""

    def collect(self) -> Iterator["ScenarioItem"]:
        """Yield its test, named after the file."""
        name = self.path.name.removesuffix(_SCENARIO)
        yield ScenarioItem.from_parent(self, name=name)


class ScenarioItem(pytest.Item):
    """Test of a scenario; passes if all expectations and the invariants hold."""

    def runtest(self) -> None:
        """Load the file, run it, and record the run's properties.

        Raises:
            ScenarioBroken: with a sentence for each failure.
        """
        from nao_testbed.experiments.scenarios.playing.runner import (  # noqa: PLC0415
            RunStopped,
            run_scenario,
        )
        from nao_testbed.experiments.scenarios.reading.load import load_scenario  # noqa: PLC0415
        from nao_testbed.models import BadInput  # noqa: PLC0415

        try:
            result = run_scenario(load_scenario(self.path)).result
        except BadInput as error:
            raise ScenarioBroken(str(error)) from None
        except RunStopped as stop:
            raise (stop.__cause__ or stop) from None
        self.user_properties += list(result.properties.items())
        if not result.all_hold:
            raise ScenarioBroken("\n".join(result.complaints))

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,
    ) -> Any:
        """Return the sentences without the traceback into our own code."""
        if not isinstance(excinfo.value, ScenarioBroken):
            return super().repr_failure(excinfo, style)
        here = self.config.invocation_params.dir
        return str(excinfo.value).replace(f"{here}/", "")

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the location and the name in the report."""
        return self.path, None, f"scenario {self.name}"


class ScenarioBroken(Exception):
    """Failed scenario: invalid, or an expectation does not hold."""
