"""XML elements that know their line, so that errors can name it."""

import math
import xml.parsers.expat
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from models.errors import RobotDataError
from models.files.tables import read_text_of
from models.robot import Vector3


@dataclass(frozen=True, kw_only=True)
class Element:
    """One XML element."""

    path: Path
    line: int
    tag: str
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)

    def fail(self, problem: str) -> NoReturn:
        """Raise an error at the line of this element."""
        raise RobotDataError(self.path, self.line, problem)

    @property
    def title(self) -> str:
        """Tag and name, for messages."""
        name = self.attributes.get("name")
        return f"{self.tag} {name!r}" if name else self.tag

    def all(self, tag: str) -> list["Element"]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def find(self, tag: str) -> "Element | None":
        """Return the child with a tag, or None.

        Raises:
            RobotDataError: there are several.
        """
        found = self.all(tag)
        if len(found) > 1:
            found[1].fail(f"{self.title} has more than one <{tag}>.")
        return found[0] if found else None

    def need(self, tag: str) -> "Element":
        """Return the one child with a tag.

        Raises:
            RobotDataError: there is none, or there are several.
        """
        found = self.find(tag)
        if found is None:
            self.fail(f"{self.title} has no <{tag}>.")
        return found

    def text(self, attribute: str) -> str:
        """Return an attribute that must be there and not be empty."""
        value = self.attributes.get(attribute, "")
        if not value:
            self.fail(f"{self.title} has no attribute {attribute!r}.")
        return value

    def number(self, attribute: str, default: float | None = None) -> float:
        """Return a finite number."""
        if default is not None and attribute not in self.attributes:
            return default
        return self._finite(attribute, self.text(attribute))

    def vector(self, attribute: str, default: Vector3) -> Vector3:
        """Return three finite numbers."""
        if attribute not in self.attributes:
            return default
        words = self.attributes[attribute].split()
        if len(words) != 3:
            self.fail(
                f"{attribute} of {self.title} is {' '.join(words)!r}; "
                "give three numbers."
            )
        x, y, z = (self._finite(attribute, word) for word in words)
        return (x, y, z)

    def _finite(self, attribute: str, word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.fail(f"{attribute} of {self.title} is {word!r}; give a finite number.")
        return value


def parse_xml(path: Path, text: str | None = None) -> Element:
    """Return the root element of an XML file, or of a text that would stand in it.

    Raises:
        RobotDataError: the file is missing or not well-formed.
    """
    parser = xml.parsers.expat.ParserCreate()
    open_elements: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        element = Element(path=path, line=line, tag=tag, attributes=attributes)
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(_tag: str) -> None:
        open_elements.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(read_text_of(path) if text is None else text, True)
    except xml.parsers.expat.ExpatError as error:
        reason = xml.parsers.expat.ErrorString(error.code)
        raise RobotDataError(path, error.lineno, f"no XML: {reason}.") from error
    return roots[0]
