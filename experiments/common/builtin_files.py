"""Built-in files of the testbed, selected by name: scenarios, sweeps."""

from dataclasses import dataclass
from pathlib import Path

from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.files import as_testbed_error


@dataclass(frozen=True, kw_only=True)
class BuiltinFiles:
    """YAML files of one folder of the testbed."""

    kind: str
    """Kind of the files in one word, such as `scenario`."""
    folder: Path

    def names(self) -> tuple[str, ...]:
        """Return the names of the files without suffix, in alphabetical order."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.yaml")))

    def named(self, name: str) -> Path:
        """Return the file with a name.

        Raises:
            UnknownName: no file has this name.
        """
        return self._named(name, "the testbed")

    def find(self, text: str) -> Path:
        """Return the file at a path, or the built-in file of this name.

        Raises:
            UnknownName: the file does not exist, and no built-in one has this name.
            BadInput: the path is a folder, or does not exist.
        """
        path = Path(text)
        try:
            if path.is_file():
                return path
        except OSError as error:  # such as a name that is too long
            raise as_testbed_error(error) from error
        if text not in self.names():
            if path.is_dir():
                raise BadInput(f"{text} is a folder; give a {self.kind} file in it.")
            if path.exists():
                raise BadInput(f"{text} is a pipe or a device; give a file.")
            if path.suffix or len(path.parts) > 1:
                raise BadInput(f"there is no file {text}; give another path.")
        return self._named(text, "this folder, nor a built-in one")

    def _named(self, name: str, where: str) -> Path:
        names = self.names()
        if name not in names:
            raise UnknownName(self.kind.capitalize(), name, names, where)
        return self.folder / f"{name}.yaml"
