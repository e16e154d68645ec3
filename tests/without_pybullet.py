"""Where PyBullet is not installed, tests that need it are skipped, and say so.

It has no wheels for Python 3.12 and later, where the testbed runs on MuJoCo alone. A
test needs it that imports it, or that asks for its engine, window or cameras. All
others run on the engine that is there.
"""

from collections.abc import Generator
from importlib.util import find_spec

import pytest

IS_MISSING = find_spec("pybullet") is None
REASON = "Skipped: PyBullet is not installed"


def asks_for_it(error: BaseException | None) -> bool:
    """Return whether an error says that PyBullet is missing."""
    from sim.engine.interface import EngineMissing, FeatureMissing

    if isinstance(error, ModuleNotFoundError):
        return error.name == "pybullet"
    if isinstance(error, FeatureMissing):
        return True
    return isinstance(error, EngineMissing) and "pybullet" in str(error)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    call = getattr(report, "call", None)
    error = call.excinfo.value if call is not None and call.excinfo else None
    while error is not None and not asks_for_it(error):
        error = error.__cause__
    if error is not None and report.failed:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, REASON)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.excinfo and asks_for_it(call.excinfo.value):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, REASON)
    return report
