"""Runs that many tests read: who asks first records, all others find it.

The processes of pytest-xdist share a folder, and a lock for each run of it.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from nao_testbed.models.system import lock


class RecordedRuns:
    """Folder of the runs of a session, each recorded once and then only read.

    A test that would change one copies it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def __call__(self, name: str, record: Callable[[Path], object]) -> Path:
        """Return the folder of a run; `record` fills it if nobody did."""
        folder, done = self.folder / name, self.folder / f"{name}.done"
        with (self.folder / f"{name}.lock").open("w", encoding="utf-8") as file:
            lock(file)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of who failed or was killed
                folder.mkdir()
                record(folder)
                done.write_text(contents(folder), encoding="utf-8")
        return folder

    def changed(self) -> list[str]:
        """Return the names of runs that are no longer as they were recorded."""
        return [
            done.stem
            for done in self.folder.glob("*.done")
            if done.read_text(encoding="utf-8") != contents(done.with_suffix(""))
        ]


def contents(folder: Path) -> str:
    """Return the files of a folder with their sizes and times, a line each."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    told = [(path, path.stat()) for path in files]
    return "\n".join(f"{path} {of.st_size} {of.st_mtime_ns}" for path, of in told)
