"""The store of recorded runs records once and detects changed runs."""

import threading
import time
from pathlib import Path

import pytest

from tests.experiments.common.recorded_runs import RecordedRuns


def test_a_run_is_recorded_once_by_the_first_caller(tmp_path: Path) -> None:
    """Two stores of one folder act as two processes: each opens the lock."""
    recorded: list[Path] = []

    def record(folder: Path) -> None:
        time.sleep(0.05)
        recorded.append(folder)
        (folder / "row").write_text("1", "utf-8")

    stores = [RecordedRuns(tmp_path) for _ in range(2)]
    threads = [
        threading.Thread(target=lambda s=store: s("run", record)) for store in stores
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorded == [tmp_path / "run"]
    assert (stores[0]("run", record) / "row").read_text("utf-8") == "1"


def test_a_failed_recording_is_repeated(tmp_path: Path) -> None:
    runs = RecordedRuns(tmp_path)

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError("no disc")

    with pytest.raises(RuntimeError, match="no disc"):
        runs("run", fail)
    folder = runs("run", lambda folder: (folder / "row").touch())
    assert [path.name for path in folder.iterdir()] == ["row"]


@pytest.mark.parametrize("change", ["more", "other", "less"])
def test_a_run_changed_by_a_test_is_named(tmp_path: Path, change: str) -> None:
    runs = RecordedRuns(tmp_path)
    row = runs("run", lambda folder: (folder / "row").write_text("1", "utf-8")) / "row"
    runs("other", lambda folder: (folder / "row").write_text("1", "utf-8"))
    assert runs.changed() == []
    if change == "more":
        (row.parent / "new").touch()
    elif change == "other":
        row.write_text("12", "utf-8")
    else:
        row.unlink()
    assert runs.changed() == ["run"]
