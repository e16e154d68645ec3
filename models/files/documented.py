"""Forms of files whose field docstrings are the descriptions in their JSON Schema.

pydantic's `use_attribute_docstrings` parses the source of each class at import, a
second for all forms, and only schemas and the documentation need the descriptions.
`Documented` reads them when its schema is made, and builds its validator at first use.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
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


def _own_docs(form: type) -> dict[str, str]:
    """Return the docstrings in the body of a class; empty without a source."""
    try:
        lines, _ = inspect.getsourcelines(form)
    except (OSError, TypeError):  # made by a function
        return {}
    (body,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(said.value.value)
        for field, said in pairwise(body.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(said, ast.Expr)
        and isinstance(said.value, ast.Constant)
        and isinstance(said.value.value, str)
    }
