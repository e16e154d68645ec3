"""Pytest plug-in of the regression kit: a mark, five fixtures, an option.

Every pytest of the environment loads this module, so heavy modules are imported only
when a fixture is first used.
"""

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from nao_testbed.experiments.regression.golden import GoldenRun
    from nao_testbed.experiments.regression.run_standing import (
        ControllerChoice,
        TrialCache,
    )
    from nao_testbed.experiments.regression.standing_trial import StandingTrial

_MARK = "standing"
_OPTION = "--nao-testbed-regenerate"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that rewrites golden runs."""
    parser.getgroup("nao-testbed").addoption(
        _OPTION,
        action="store_true",
        default=False,
        help="Regenerate the golden runs of golden_run.check instead of comparing; "
        "such tests are skipped with the names of the written files.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(controller, **setting): the trial of the fixture standing_trial, and "
        "the setting of fixed_trial and smart_trial; policy=FILE in place of the "
        "controller; see "
        "nao_testbed.experiments.regression.StandingCfg",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test whose trial failed; skip one that wrote a golden run."""
    given: Mapping[str, Any] = getattr(item, "funcargs", {})
    broken = getattr(given.get("standing_trial"), "breach", None)
    if broken is not None:
        pytest.fail(broken, pytrace=False)
    outcome = yield
    written = getattr(given.get("golden_run"), "written", None)
    if written:
        names = ", ".join(str(path) for path in written)
        pytest.skip(f"golden run written: {names}; review its diff")
    return outcome


class RunStanding:
    """Fixture `run_standing`: runs trials within a test."""

    def __init__(self, request: pytest.FixtureRequest, store: "TrialCache") -> None:
        """Store the test; values of a call override those of its mark."""
        self._node = request.node
        self._store = store

    def __call__(
        self, controller: "ControllerChoice", **setting: Any
    ) -> "StandingTrial":
        """Run a controller, or return an equal trial of this session.

        Args:
            controller: name, class or factory, or instance of a controller.
            **setting: fields of `StandingCfg`, which override those of the test's mark.

        Raises:
            BadInput: the controller or a value is invalid.
            AssertionError: the controller broke its contract.
        """
        __tracebackhide__ = True
        from nao_testbed.models import TestbedError  # noqa: PLC0415

        try:
            trial = self._run(controller, _of_marks(self._node) | setting)
        except TestbedError as error:  # the line of the test is sufficient
            raise error.with_traceback(None) from None
        trial.keeps_its_contract()
        return trial

    def of_mark(
        self, fixture: str, controller: "ControllerChoice | None" = None
    ) -> "StandingTrial":
        """Run the trial of the mark; an invalid mark is reported in one sentence.

        Args:
            fixture: requesting fixture.
            controller: controller; None: that of the mark.
        """
        from nao_testbed.models import TestbedError  # noqa: PLC0415

        where = f"pytest.mark.{_MARK}"
        values = _of_marks(self._node)
        if not values:
            pytest.fail(
                f"{self._node.name} takes the fixture {fixture} but has no setting; "
                f'mark it with @{where}(controller="smart", seconds=20.0).',
                pytrace=False,
            )
        chosen = values.get("controller") if controller is None else controller
        try:
            return self._run(chosen, values, where)
        except TestbedError as error:
            sentence = f"{where}: {error}"
        pytest.fail(sentence, pytrace=False)

    def _run(
        self,
        controller: "ControllerChoice | None",
        values: dict[str, Any],
        where: str = "run_standing",
    ) -> "StandingTrial":
        """Run a trial, and add its properties to the test."""
        from nao_testbed.experiments.regression.setting import make_setting  # noqa: PLC0415
        from nao_testbed.experiments.regression.standing_trial import properties_of  # noqa: PLC0415
        from nao_testbed.models import BadInput  # noqa: PLC0415

        __tracebackhide__ = True
        fields = {name: value for name, value in values.items() if name != "controller"}
        setting = make_setting(fields, where)
        if controller is None and where != "run_standing":
            raise BadInput('it has no controller; give one, as in controller="smart".')
        trial = self._store.get(cast("ControllerChoice", controller), setting)
        noted = {name for name, _ in self._node.user_properties}
        self._node.user_properties += [
            (name, value)
            for name, value in properties_of(trial).items()
            if name not in noted
        ]
        return trial


@pytest.fixture(scope="session")
def _nao_testbed_trials(tmp_path_factory: pytest.TempPathFactory) -> "TrialCache":
    from nao_testbed.experiments.regression.run_standing import TrialCache  # noqa: PLC0415

    return TrialCache(tmp_path_factory.mktemp("standing"))


@pytest.fixture
def run_standing(
    request: pytest.FixtureRequest, _nao_testbed_trials: "TrialCache"
) -> RunStanding:
    """Run a controller: `run_standing(controller, **setting)`."""
    return RunStanding(request, _nao_testbed_trials)


@pytest.fixture
def standing_trial(run_standing: RunStanding) -> "StandingTrial":
    """The trial of the mark's controller in the mark's setting."""
    return run_standing.of_mark("standing_trial")


@pytest.fixture
def fixed_trial(run_standing: RunStanding) -> "StandingTrial":
    """The trial of the mark's setting under `fixed`: constant stiffness 1."""
    return run_standing.of_mark("fixed_trial", "fixed")


@pytest.fixture
def smart_trial(run_standing: RunStanding) -> "StandingTrial":
    """The trial of the mark's setting under `smart`: the limit of ES2659053."""
    return run_standing.of_mark("smart_trial", "smart")


@pytest.fixture
def golden_run(request: pytest.FixtureRequest) -> "GoldenRun":
    """The golden runs of this test: `golden_run.check(trial)`."""
    from nao_testbed.experiments.regression.golden import GoldenRun  # noqa: PLC0415

    here = request.path
    return GoldenRun(
        here.parent / "golden" / here.stem,
        request.node.name,
        regenerate=request.config.getoption(_OPTION),
    )


def _of_marks(node: Any) -> dict[str, Any]:
    """Return the values of all marks; the closest one to the test has priority."""
    values: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers(_MARK))):
        if mark.args:
            pytest.fail(
                f"pytest.mark.{_MARK} of {node.name} takes names and values only, as "
                f'in controller="smart"; got {mark.args[0]!r}.',
                pytrace=False,
            )
        values |= mark.kwargs
    if "policy" in values:
        from nao_testbed.controllers.policies.text import policy_text  # noqa: PLC0415

        values["controller"] = policy_text(
            str(values.pop("policy")), values.pop("command", None)
        )
    return values
