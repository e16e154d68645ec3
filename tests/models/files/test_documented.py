"""Descriptions of fields, read from the source when a schema is made."""

from dataclasses import dataclass

from nao_testbed.models.files.documented import Documented, field_docs


@dataclass
class Setting:
    """Source of copied fields."""

    angle: float = 0.0
    """Angle in rad."""


class Above(Documented):
    """Base of a form."""

    first: int
    """First number."""
    plain: int


class Form(Above):
    """Form with a field of its own, and one of a dataclass."""

    documented_by = Setting

    angle: float
    first: int = 1
    """First number, again."""


def test_docstrings_of_a_class_precede_those_of_its_bases_and_source() -> None:
    assert field_docs(Form) == {
        "angle": "Angle in rad.",
        "first": "First number, again.",
    }
    properties = Form.model_json_schema()["properties"]
    assert properties["angle"]["description"] == "Angle in rad."
    assert properties["first"]["description"] == "First number, again."
    assert "description" not in properties["plain"]
