"""Sources parsed once, for all tests that walk the house: a second for all of them."""

import ast
from functools import cache


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)
