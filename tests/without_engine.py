"""Where an engine is not installed, tests that need it are skipped, and say so.

MuJoCo is an extra where PyBullet has wheels. A test needs an engine that imports its
library or asks for the engine by name; PyBullet it also needs that asks for a feature
that MuJoCo lacks (window, cameras, own motors). All others run on the engine that is
there.
"""

from collections.abc import Generator
from importlib.util import find_spec

import pytest

LIBRARIES = {"pybullet": "PyBullet", "mujoco": "MuJoCo"}
MISSING = {name: says for name, says in LIBRARIES.items() if find_spec(name) is None}


def reason_to_skip(error: BaseException | None) -> str | None:
    """Return the reason if an error comes of an engine that is missing, else None."""
    from nao_testbed.sim.engine.interface import EngineMissing, FeatureMissing

    named = ""
    if isinstance(error, ModuleNotFoundError):
        named = error.name or ""
    elif isinstance(error, EngineMissing):
        named = next((name for name in MISSING if f"'{name}'" in str(error)), "")
    elif isinstance(error, FeatureMissing):
        named = "pybullet"
    return f"Skipped: {MISSING[named]} is not installed" if named in MISSING else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    call = getattr(report, "call", None)
    error = call.excinfo.value if call is not None and call.excinfo else None
    while error is not None and reason_to_skip(error) is None:
        error = error.__cause__
    reason = reason_to_skip(error)
    if reason is not None and report.failed:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    reason = reason_to_skip(call.excinfo.value) if call.excinfo else None
    if reason is not None and report.failed:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, reason)
    return report
