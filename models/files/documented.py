"""Forms of files whose field docstrings are the descriptions in their JSON Schema.

pydantic's `use_attribute_docstrings` parses the source of each class at import, a
second for all forms, and only schemas and the documentation need the descriptions.
`Documented` reads them when its schema is made, and builds its validator at first use.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler


class Documented(BaseModel):
    """Base of forms: unknown keys are rejected, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    documented_by: ClassVar[type | None] = None
    """Dataclass with the docstrings of fields that were copied from it."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core_schema)
        inside = handler.resolve_ref_schema(schema)
        docs = field_docs(cls)
        for name, field in cls.model_fields.items():
            below = inside["properties"][field.alias or name]
            if name in docs:
                below.setdefault("description", docs[name])
        return schema


@cache
def field_docs(form: type) -> Mapping[str, str]:
    """Return the docstrings of the fields of a class and its bases, by field."""
    source: type | None = getattr(form, "documented_by", None)
    docs = {} if source is None else dict(field_docs(source))
    for base in reversed(form.__mro__):
        if base not in {object, BaseModel, Documented}:
            docs |= _own_docs(base)
    return docs


def _own_docs(form: type) -> Mapping[str, str]:
    """Return the docstrings in the body of a class; empty without a source."""
    return _docs_of_module(form.__module__).get(form.__qualname__, {})


@cache
def _docs_of_module(name: str) -> dict[str, dict[str, str]]:
    """Return the field docstrings of each class of a module, nested ones too."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[name]))
    except (KeyError, OSError, TypeError):  # typed at a prompt, or built in
        return {}
    return dict(_docs_below(tree, ""))


def _docs_below(node: ast.AST, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the qualified name and field docstrings of each class below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield prefix + child.name, _docs_in(child)
            yield from _docs_below(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            yield from _docs_below(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.stmt):
            yield from _docs_below(child, prefix)


def _docs_in(body: ast.ClassDef) -> dict[str, str]:
    return {
        field.target.id: inspect.cleandoc(said.value.value)
        for field, said in pairwise(body.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(said, ast.Expr)
        and isinstance(said.value, ast.Constant)
        and isinstance(said.value.value, str)
    }
