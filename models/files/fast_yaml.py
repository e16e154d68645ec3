"""Composer of plain YAML by libyaml, four times as fast as ruamel's.

It replaces only the first stages of `ruamel.yaml` (scanner, parser, composer): values,
lines, checks and their messages stay the same. Texts in which YAML 1.1, which libyaml
reads, may differ from YAML 1.2, and texts with errors, are left to ruamel (`Unusual`).
"""

import re
from collections.abc import Callable
from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.tag import Tag

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
_MAP, _LIST = (Tag(suffix=f"tag:yaml.org,2002:{kind}") for kind in ("map", "seq"))


class Unusual(Exception):
    """The text must be read by ruamel."""


def is_plain(text: str) -> bool:
    """Return True if libyaml reads a text as YAML 1.2 does."""
    return CParser is not None and not _UNUSUAL.search(text)


class PlainComposer:
    """Source of nodes for ruamel's constructor, in the place of its `Composer`."""

    def __init__(self, text: str, loader: Any) -> None:
        """Create the source for a text for which `is_plain` is True."""
        self._text = text
        self._loader = loader
        self._tags: dict[tuple[str, tuple[bool, bool]], Any] = {}

    def get_single_node(self) -> Any:
        """Return the root of the text; None if it is empty.

        Raises:
            Unusual: libyaml rejects the text, or there are two documents.
        """
        following: Callable[[], Any] = CParser(self._text).get_event
        try:
            following()
            if isinstance(following(), yaml.StreamEndEvent):
                return None
            root = self._node(following(), following, 0)
            following()
            if not isinstance(following(), yaml.StreamEndEvent):
                raise Unusual
        except yaml.YAMLError as error:
            raise Unusual from error
        return root

    def _node(self, event: Any, following: Callable[[], Any], depth: int) -> Any:
        """Return the node that begins with an event."""
        begin = event.start_mark
        if isinstance(event, yaml.ScalarEvent):
            if not event.value and not event.style:  # its place differs
                raise Unusual
            tag = self._tag(event.value, event.implicit)
            end = event.end_mark
            return ScalarNode(tag, event.value, begin, end, style=event.style)
        if depth > _MAX_DEPTH or isinstance(event, yaml.AliasEvent):
            raise Unusual
        inside: list[Any] = []
        is_map = isinstance(event, yaml.MappingStartEvent)
        kind, tag = (MappingNode, _MAP) if is_map else (SequenceNode, _LIST)
        node = kind(tag, inside, begin, None, flow_style=event.flow_style)
        while not isinstance(event := following(), yaml.CollectionEndEvent):
            one = self._node(event, following, depth + 1)
            if is_map:
                one = one, self._node(following(), following, depth + 1)
            inside.append(one)
        node.end_mark = event.end_mark
        return node

    def _tag(self, text: str, implicit: tuple[bool, bool]) -> Any:
        """Return the tag of a scalar, equal for equal texts."""
        key = text, implicit
        if key not in self._tags:
            self._tags[key] = self._loader.resolver.resolve(ScalarNode, text, implicit)
        return self._tags[key]
