"""`nao-testbed study example-logs`: each file is recognised by `log-columns`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nao_testbed.experiments.cli import app
from tests.experiments.heat.logs.conftest import G1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nao", "g1"])
def test_each_example_is_recognised(
    kind: str, nao_run: Path, g1_run: Path, tmp_path: Path
) -> None:
    run, robot = (nao_run, G1.with_name("nao")) if kind == "nao" else (g1_run, G1)
    out = tmp_path / "logs"
    line = ["study", "example-logs", str(run), "--out", str(out)]
    found = CliRunner().invoke(app, line)
    assert found.exit_code == 0, found.output
    files = [Path(name) for name in found.output.split()]
    assert len(files) == 8
    for file in files:
        said = CliRunner().invoke(
            app, ["log-columns", str(file), "--robot", str(robot)]
        )
        assert said.exit_code == 0, said.output
        assert "columns as of" in said.output, file
    again = CliRunner().invoke(app, line)
    assert again.exit_code != 0
    assert "File exists; give a new folder" in str(again.exception)
