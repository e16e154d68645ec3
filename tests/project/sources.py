"""Source files, parsed once for all tests."""

import ast
from functools import cache


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def walk(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree; finding them takes as long as to parse it."""
    return tuple(ast.walk(tree))
