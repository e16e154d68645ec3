"""Which keys a form accepts at a place: for messages about unknown ones."""

from typing import Any, get_args, get_origin

from pydantic import BaseModel


def accepted_keys(form: type[BaseModel], place: tuple[str | int, ...]) -> list[str]:
    """Return the keys that a form accepts at a place, in the order of its fields.

    Args:
        form: of the whole file.
        place: keys and item numbers that lead to a map.
    """
    models = _models(form)
    for part in place:
        models = [model for above in models for model in _below(above, part)]
    keys = [
        field.alias or name
        for model in models
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name, field in model.model_fields.items()
    ]
    return list(dict.fromkeys(keys))


def _below(model: Any, part: str | int) -> list[Any]:
    """Return what may stand under a key of a form or container."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        if model.__name__ == part:  # pydantic names the members of a union
            return [model]
        fields = model.model_fields.items()
        return [
            inner
            for name, field in fields
            if part in {name, field.alias}
            for inner in _models(field.annotation)
        ]
    return [inner for inside in get_args(model)[-1:] for inner in _models(inside)]


def _models(annotation: Any) -> list[Any]:
    """Return the forms and containers that an annotation allows."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin in {dict, list}:
        return [annotation]
    if origin is tuple:
        return [list[kind] for kind in inside if kind is not Ellipsis]  # type: ignore[valid-type]
    return [model for part in inside for model in _models(part)]
