"""Source files, parsed once for all tests."""

import ast
from functools import cache


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)
