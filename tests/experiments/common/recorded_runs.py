"""Recorded runs shared by tests; the first test that needs a run records it.

The processes of pytest-xdist share the folder, with a lock for each run.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from nao_testbed.models.system import lock


class RecordedRuns:
    """Folder of recorded runs of a session; tests only read them.

    A test that changes a run copies it first.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def __call__(self, name: str, record: Callable[[Path], object]) -> Path:
        """Return the folder of a run; call `record` if it is not recorded yet."""
        folder, done = self.folder / name, self.folder / f"{name}.done"
        with (self.folder / f"{name}.lock").open("w", encoding="utf-8") as file:
            lock(file)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a failed test
                folder.mkdir()
                record(folder)
                done.write_text(contents(folder), encoding="utf-8")
        return folder

    def changed(self) -> list[str]:
        """Return the names of runs that changed after they were recorded."""
        return [
            done.stem
            for done in self.folder.glob("*.done")
            if done.read_text(encoding="utf-8") != contents(done.with_suffix(""))
        ]


def contents(folder: Path) -> str:
    """Return one line for each file of a folder, with size and time."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    told = [(path, path.stat()) for path in files]
    return "\n".join(f"{path} {of.st_size} {of.st_mtime_ns}" for path, of in told)
