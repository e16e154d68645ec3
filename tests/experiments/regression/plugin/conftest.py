"""Keep modules that an inner pytest imported, only for this folder.

Numba imports parts of itself when it first compiles. A second import fails, and so
does every later compilation in the same process.
"""

import sys
from pathlib import Path

import pytest
from _pytest.pytester import SysModulesSnapshot

PLUGINS = (
    "nao_testbed.experiments.regression.plugin",
    "nao_testbed.experiments.scenarios.pytest_plugin",
)
"""Each pytest imports these itself, to rewrite their assertions."""


@pytest.fixture(autouse=True)
def keeps_what_it_imports(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = tmp_path_factory.getbasetemp()

    def forget(_snapshot: object) -> None:
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name in PLUGINS or (file and Path(file).is_relative_to(own)):
                del sys.modules[name]

    monkeypatch.setattr(SysModulesSnapshot, "restore", forget)
