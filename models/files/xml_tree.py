"""XML elements with their line numbers, for error messages."""

import math
import re
import xml.parsers.expat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from nao_testbed.models.errors import RobotDataError
from nao_testbed.models.files.csv_tables import read_text_of
from nao_testbed.models.robot import Vector3


@dataclass(frozen=True, kw_only=True)
class Element:
    """XML element."""

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
            RobotDataError: there are several such children.
        """
        found = self.all(tag)
        if len(found) > 1:
            found[1].fail(f"{self.title} has more than one <{tag}>.")
        return found[0] if found else None

    def need(self, tag: str) -> "Element":
        """Return the only child with a tag.

        Raises:
            RobotDataError: there is no such child, or there are several.
        """
        found = self.find(tag)
        if found is None:
            self.fail(f"{self.title} has no <{tag}>.")
        return found

    def all_below(self) -> Iterator["Element"]:
        """Yield every element inside, in the order of the file."""
        for child in self.children:
            yield child
            yield from child.all_below()

    def text(self, attribute: str) -> str:
        """Return an attribute that must exist and not be empty."""
        value = self.attributes.get(attribute, "")
        if not value:
            self.fail(f"{self.title} has no attribute {attribute!r}.")
        return value

    def number(self, attribute: str, default: float | None = None) -> float:
        """Return a finite number."""
        if default is not None and attribute not in self.attributes:
            return default
        return self.numbers(attribute, 1)[0]

    def vector(self, attribute: str, default: Vector3) -> Vector3:
        """Return three finite numbers."""
        if attribute not in self.attributes:
            return default
        x, y, z = self.numbers(attribute, 3)
        return (x, y, z)

    def numbers(self, attribute: str, count: int) -> list[float]:
        """Return the finite numbers of an attribute, separated by blanks."""
        text = self.text(attribute)
        words = [text.lstrip(" ")] if count == 1 else text.split()
        if len(words) != count:
            self.fail(
                f"{attribute} of {self.title} is {' '.join(words)!r}; give "
                f"{_COUNTS[count]} numbers."
            )
        return [self._finite(attribute, word) for word in words]

    def _finite(self, attribute: str, word: str) -> float:
        """Return a number that every URDF reader accepts; only Python accepts 1_0."""
        value = float(word) if _NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            self.fail(f"{attribute} of {self.title} is {word!r}; give a finite number.")
        return value


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COUNTS = {3: "three", 4: "four"}
MAX_DEPTH = 100
"""Largest depth of nested elements; engines accept several hundred."""


def parse_xml(path: Path, text: str | None = None) -> Element:
    """Return the root element of an XML file, or of its text.

    Raises:
        RobotDataError: the file is missing, not well-formed, in another encoding than
            it declares, or its elements are nested too deeply.
    """
    parser = xml.parsers.expat.ParserCreate()
    open_elements: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        element = Element(path=path, line=line, tag=tag, attributes=attributes)
        if len(open_elements) == MAX_DEPTH:
            element.fail(f"elements are nested more than {MAX_DEPTH} deep.")
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(_tag: str) -> None:
        open_elements.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        read = read_text_of(path) if text is None else text
        parser.Parse(read.encode(), True)  # in the declared encoding, as in engines
    except xml.parsers.expat.ExpatError as error:
        reason = xml.parsers.expat.ErrorString(error.code)
        raise RobotDataError(path, error.lineno, f"not XML: {reason}.") from error
    except (LookupError, ValueError) as error:
        problem = f"cannot be read: {error}; save it as UTF-8 and declare that."
        raise RobotDataError(path, 1, problem) from error
    return roots[0]
