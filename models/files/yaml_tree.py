"""Reader of all YAML files: maps, lists, texts and numbers with line numbers.

    tree = read_tree(path)
    yaml_line(tree, ("motions", "nod"))

Robots, libraries, scenarios, sweeps and presets are read here. A file is plain YAML
1.2: keys are texts, integers have 64 bits, and the expansion of aliases is limited.
Other content (dates, tags, sets) is rejected with its line.
"""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import RoundTripScanner, ScannerError

from nao_testbed.models.errors import RobotDataError
from nao_testbed.models.files.csv_tables import read_text_of
from nao_testbed.models.files.fast_yaml import (
    LocatedList,
    LocatedMap,
    Unusual,
    is_plain,
    plain_tree,
)

MAX_BYTES = 2_000_000
"""Largest size of a file: reading more would take minutes."""
MAX_ALIAS_VALUES = 10_000
"""Largest number of values that all aliases of a file may add: 370 bytes could expand
beyond the memory."""
MAX_DEPTH = 100
"""Largest depth of nested maps and lists."""
TOO_DEEP = f"is nested too deeply, over {MAX_DEPTH} levels; use fewer levels"
MAX_INT = 2**63
"""Bound of integers, which must fit into 64 bits."""
MAX_DIGITS = 66
"""Largest number of characters of an integer without its sign: `0b` and 64 digits."""
_STANDARD = "tag:yaml.org,2002:"
_KINDS = {
    f"{_STANDARD}{tag}": words
    for tag, words in {
        "str": "a text",
        "int": "a whole number",
        "float": "a number",
        "bool": "true or false",
        "null": "nothing",
        "map": "a map",
        "seq": "a list",
        "merge": "<<",
    }.items()
}
"""Accepted tags, with words for messages."""
_TEXT, _WHOLE, _REAL, _MERGE = (
    f"{_STANDARD}{tag}" for tag in ("str", "int", "float", "merge")
)
_IMPLICIT = {"timestamp": "a date", "value": "a default value"}
"""Types that YAML infers for values without quotes, but that no file may use."""


def read_tree(path: Path) -> Any:
    """Read a YAML 1.2 file into maps and lists with line numbers.

    Returns:
        Argument of `yaml_line`; None for an empty file.

    Raises:
        RobotDataError: the file is too large, is not YAML, or has a duplicate key or
            content that is not accepted.
    """
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        size = f"{path.stat().st_size / 1e6:.1f} MB"
        problem = f"has {size}; a YAML file has at most {MAX_BYTES / 1e6:g} MB."
        raise RobotDataError(path, None, problem)
    return tree_of(read_text_of(path), path)


def tree_of(text: str, path: Path) -> Any:
    """Parse a YAML 1.2 text as `read_tree` does.

    Args:
        text: text of the file.
        path: file name for messages.

    Raises:
        RobotDataError: as `read_tree`.
    """
    if is_plain(text):
        with contextlib.suppress(Unusual):
            return plain_tree(text)
    try:
        return _located(_reader().load(text))
    except _Rejected as error:
        raise RobotDataError(path, error.line, error.problem) from None
    except MarkedYAMLError as error:
        line = column = None
        if (mark := error.problem_mark) is not None:
            line, column = mark.line + 1, mark.column + 1
        problem = str(error.problem).strip().splitlines()[0]
        if "another document" in problem:
            problem = "the file has two documents; keep one, without a --- line"
        elif "maximum depth" in problem:
            problem = TOO_DEEP
        elif "duplicate key" not in problem:
            problem = f"is not YAML: {problem}; correct this line or those before"
        raise RobotDataError(path, line, f"{problem}.", column) from error
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        problem = f"is not text: {error.reason}."
        raise RobotDataError(path, line, problem, column) from error
    except YAMLError as error:
        raise RobotDataError(path, None, f"is not YAML: {error}.") from error


def _reader() -> YAML:
    """Return ruamel's reader of one text."""
    yaml = YAML(typ="rt")
    yaml.Constructor = _Constructor
    yaml.Scanner = _Scanner
    yaml.max_depth = MAX_DEPTH
    yaml.composer.warn_double_anchors = False  # YAML allows an anchor to be redefined
    return yaml


def _located(tree: Any) -> Any:
    """Return ruamel's tree as plain values, maps and lists with lines."""
    if isinstance(tree, CommentedMap):
        found: Any = LocatedMap((key, _located(tree[key])) for key in tree)
    elif isinstance(tree, CommentedSeq):
        found = LocatedList(map(_located, tree))
    else:
        plain = (kind for kind in (bool, int, float, str) if isinstance(tree, kind))
        return next(plain, lambda same: same)(tree)
    found.line = tree.lc.line + 1
    found.lines = {key: place[0] + 1 for key, place in (tree.lc.data or {}).items()}
    return found


def yaml_line(tree: Any, place: tuple[str | int, ...]) -> int | None:
    """Return the line of the key or item at `place`, or of its nearest parent."""
    line = tree.line if isinstance(tree, LocatedMap | LocatedList) else 1
    for part in place:
        try:
            known = tree.lines[part]
            tree = tree[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            return line
        line = known
    return line


class _Rejected(Exception):  # never leaves this module
    """Error: a file has content that is not accepted."""

    def __init__(self, node: Any, problem: str) -> None:
        self.line: int = node.start_mark.line + 1
        self.problem = problem
        super().__init__(problem)


class _Scanner(RoundTripScanner):
    """Scanner that reports places where ruamel's own raises a plain Python error."""

    def scan_flow_scalar_non_spaces(self, double: Any, start_mark: Any) -> Any:
        """Return a piece of a text in quotes.

        Raises:
            ScannerError: an escape sequence is not a character.
        """
        try:
            return super().scan_flow_scalar_non_spaces(double, start_mark)
        except (ValueError, OverflowError):  # of chr()
            said = (
                f"\\U{self.reader.prefix(8)} is beyond the last character, \\U0010FFFF"
            )
            mark = self.reader.get_mark()
            raise ScannerError(None, None, said, mark) from None

    def scan_yaml_directive_number(self, start_mark: Any) -> Any:
        """Return a number of the line %YAML.

        Raises:
            ScannerError: it has thousands of digits.
        """
        try:
            return super().scan_yaml_directive_number(start_mark)
        except ValueError:  # of int()
            said = "the version after %YAML is not a number"
            raise ScannerError(None, None, said, self.reader.get_mark()) from None


class _Constructor(RoundTripConstructor):
    """Constructor of values that checks all nodes first."""

    def construct_document(self, node: Any) -> Any:
        """Check all nodes, then construct the values.

        Raises:
            _Rejected: a node cannot be used.
        """
        major, minor = self.resolver.processing_version
        if (major, minor) != (1, 2):
            problem = f"declares YAML {major}.{minor}; files are read as 1.2"
            raise _Rejected(node, f"{problem}. Remove the %YAML line.")
        _NodeCheck(self.resolver).extent(node)
        return super().construct_document(node)


_Constructor.add_constructor(_TEXT, RoundTripConstructor.construct_scalar)
"""Used for the tag `!!str` too, for which ruamel would create a special object."""


@dataclass
class _NodeCheck:
    """Check of the nodes of a file, in one pass before any value is constructed."""

    resolver: Any
    extents: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Node to its number of values, aliases expanded, and its depth."""
    open: set[int] = field(default_factory=set)
    """Nodes that enclose the present one."""
    read_as: dict[str, str] = field(default_factory=dict)
    """Text to the tag that it would have without quotes."""

    def extent(self, node: Any) -> tuple[int, int]:
        """Return the number of values of a node, aliases expanded, and its depth.

        Raises:
            _Rejected: a node cannot be used, or there are too many.
        """
        key = id(node)
        if key in self.open:
            problem = f"&{node.anchor} refers to itself: an alias of it is inside it"
            raise _Rejected(node, f"{problem}. Write the value out.")
        if key not in self.extents:
            self.open.add(key)
            inside = [self.extent(inner) for inner in self.inside(node)]
            self.open.remove(key)
            values = 1 + sum(count for count, _ in inside)
            depth = 1 + max((depth for _, depth in inside), default=0)
            self.extents[key] = values, depth
            if values - len(self.extents) > MAX_ALIAS_VALUES:
                problem = f"aliases expand to over {MAX_ALIAS_VALUES} more values"
                raise _Rejected(node, f"{problem}; use fewer aliases.")
            if depth > MAX_DEPTH:
                raise _Rejected(node, f"{TOO_DEEP}.")
        return self.extents[key]

    def inside(self, node: Any) -> list[Any]:
        """Return the nodes of a map or list; for a scalar, check it and return none."""
        if node.tag not in _KINDS:
            raise _Rejected(node, _tag_problem(node))
        if isinstance(node, ScalarNode):
            self.scalar(node)
            return []
        if not isinstance(node, MappingNode):
            return list(node.value)
        for key, _ in node.value:
            _check_key(key)
        return [inner for pair in node.value for inner in pair]

    def scalar(self, node: Any) -> None:
        """Reject a value that does not match its tag, or exceeds 64 bits."""
        tag, text = node.tag, node.value
        _check_characters(node)
        if text not in self.read_as:
            found = self.resolver.resolve(ScalarNode, text, (True, False))
            self.read_as[text] = str(found)
        read_as = self.read_as[text]
        if tag != _TEXT and read_as not in {tag, {_REAL: _WHOLE}.get(tag)}:
            raise _Rejected(node, f"{_shortened(text)!r} is not {_KINDS[tag]}.")
        if tag in {_WHOLE, _REAL} and "_" in text:
            plain = _shortened(text.replace("_", ""))
            problem = f"{_shortened(text)} is a number with underscores; write {plain}"
            raise _Rejected(node, f"{problem}, or quote it for text.")
        if tag == _WHOLE and not _is_small(text):
            problem = f"{_shortened(text)} is a whole number of {len(text)} digits"
            raise _Rejected(node, f"{problem}; give one below {float(MAX_INT):.2g}.")


def _check_characters(node: Any) -> None:
    """Reject a lone surrogate, which an escape sequence can produce."""
    for half in (one for one in node.value if "\ud800" <= one <= "\udfff"):
        problem = f"\\u{ord(half):04X} is half of a surrogate pair"
        raise _Rejected(node, f"{problem}; write both, or a \\U escape.")


def _check_key(key: Any) -> None:
    """Reject a key that is not a text."""
    if not isinstance(key, ScalarNode):
        kind = "map" if isinstance(key, MappingNode) else "list"
        raise _Rejected(key, f"a key is a {kind}; give a name before the colon.")
    if key.tag in _KINDS and key.tag not in {_TEXT, _MERGE}:
        if not key.value:
            raise _Rejected(key, "a key is missing; give a name before the colon.")
        said, kind = _shortened(key.value), _KINDS[key.tag]
        problem = f"the key {said} means {kind}, but keys must be names"
        raise _Rejected(key, f'{problem}; for this name write "{said}".')


def _tag_problem(node: Any) -> str:
    """Return the problem of a node with a tag that is not accepted."""
    tag = node.tag.removeprefix(_STANDARD)
    if tag in _IMPLICIT:
        kind, said = _IMPLICIT[tag], _shortened(str(node.value))
        return f'{said} is {kind} in YAML, which is not accepted; "{said}" is text.'
    return f"tag {_shortened(tag)!r} is unknown; write the value without it."


def _is_small(text: str) -> bool:
    digits = text.lstrip("+-").lower()
    if len(digits) > MAX_DIGITS:
        return False
    base = {"0x": 16, "0o": 8, "0b": 2}.get(digits[:2], 10)
    return int(digits, base) < MAX_INT


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
