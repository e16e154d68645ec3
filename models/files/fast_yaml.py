"""Reader of plain YAML by libyaml, sixteen times as fast as ruamel's.

Values and lines are those of `ruamel.yaml`. Texts in which YAML 1.1, which libyaml
reads, may differ from YAML 1.2, values that need a check, and texts with errors are
left to ruamel (`Unusual`), which also gives the messages.
"""

import re
from collections.abc import Callable
from typing import Any

from ruamel.yaml.resolver import VersionedResolver

try:
    import yaml
    from yaml.cyaml import CParser
except ImportError:  # PyYAML is optional, and so is its part in C
    CParser = None

_UNUSUAL = re.compile(
    r"[\t\r\x85\u2028\u2029\ufeff]"  # separators
    r"|(?:^|[\s\[{,:-])[&*!]"  # anchors, aliases, tags
    r"|(?:^|[\s\[{,:-])[|>](?![+-]?\n)"  # block texts with a comment or an indent
    r"|^(?:%|---|\.\.\.)|<<"  # directives, documents, merge keys
    r"|[\[{,][^\n\"']*[^\s\"',\[\]{}]:[^\s,\]}]"  # `a:b` inside brackets
    r"|\\[^n\"\\]",  # escapes
    re.MULTILINE,
)
"""What is left to ruamel; a harmless text that matches is only read more slowly."""
_MAX_DEPTH = 50
"""Largest depth; deeper texts are left to ruamel."""
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_REAL = re.compile(r"[-+]?[0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?")
"""Numbers that Python reads as YAML 1.2 does; others are left to ruamel."""
_BOOL = {"true": True, "false": False}
_TAGS_BY_FIRST = VersionedResolver((1, 2)).versioned_resolver
"""First character of a value without quotes to pairs of a tag and its pattern."""


class Unusual(Exception):
    """The text must be read by ruamel."""


class LocatedMap(dict[str, Any]):
    """Map of a file with lines, counted from 1."""

    __slots__ = ("line", "lines")

    line: int
    """Line of its first key or bracket."""
    lines: dict[str | int, int]
    """Key to its line."""


class LocatedList(list[Any]):
    """List of a file with lines, counted from 1."""

    __slots__ = ("line", "lines")

    line: int
    """Line of its first item or bracket."""
    lines: dict[str | int, int]
    """Index to the line of the item."""


def is_plain(text: str) -> bool:
    """Return True if libyaml reads a text as YAML 1.2 does."""
    return CParser is not None and not _UNUSUAL.search(text)


def plain_tree(text: str) -> Any:
    """Return the maps, lists and values of a text for which `is_plain` is True.

    Raises:
        Unusual: libyaml rejects the text, or a value needs a check.
    """
    following: Callable[[], Any] = CParser(text).get_event
    try:
        following()
        if isinstance(following(), yaml.StreamEndEvent):
            return None
        tree = _PlainTree(following).value(following(), 0)
        following()
        if not isinstance(following(), yaml.StreamEndEvent):
            raise Unusual  # a second document
    except yaml.YAMLError as error:
        raise Unusual from error
    return tree


class _PlainTree:
    """Values of one text, made from the events of libyaml."""

    def __init__(self, following: Callable[[], Any]) -> None:
        self._following = following
        self._values: dict[tuple[str, bool], Any] = {}

    def value(self, event: Any, depth: int) -> Any:
        """Return the value that begins with an event."""
        if isinstance(event, yaml.ScalarEvent):
            if not event.value and not event.style:  # its place differs
                raise Unusual
            key = event.value, event.implicit[0]
            if key not in self._values:
                self._values[key] = _scalar(*key)
            return self._values[key]
        if depth > _MAX_DEPTH or isinstance(event, yaml.AliasEvent):
            raise Unusual
        if isinstance(event, yaml.MappingStartEvent):
            return self._map(event.start_mark.line + 1, depth)
        return self._list(event.start_mark.line + 1, depth)

    def _map(self, line: int, depth: int) -> LocatedMap:
        found = LocatedMap()
        found.line, found.lines = line, {}
        following, value = self._following, self.value
        while not isinstance(event := following(), yaml.CollectionEndEvent):
            key = value(event, depth + 1)
            if type(key) is not str or key in found:
                raise Unusual
            found.lines[key] = event.start_mark.line + 1
            found[key] = value(following(), depth + 1)
        return found

    def _list(self, line: int, depth: int) -> LocatedList:
        found = LocatedList()
        found.line, found.lines = line, {}
        following, value = self._following, self.value
        while not isinstance(event := following(), yaml.CollectionEndEvent):
            found.lines[len(found)] = event.start_mark.line + 1
            found.append(value(event, depth + 1))
        return found


def _scalar(text: str, is_unquoted: bool) -> Any:
    """Return a text, number, True, False or None."""
    tags = _TAGS_BY_FIRST.get(text[0], ()) if is_unquoted else ()
    tag = next((str(tag) for tag, fits in tags if fits.match(text)), "str")
    kind = tag.rpartition(":")[2]
    if kind == "str":
        return text
    if kind == "int" and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "float" and _REAL.fullmatch(text):
        return float(text)
    if kind == "bool" and text in _BOOL:
        return _BOOL[text]
    if kind == "null":
        return None
    raise Unusual
