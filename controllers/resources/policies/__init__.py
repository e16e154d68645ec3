"""Conflict policies, one in each file; a new file here is a new policy.

A policy is a class of a module of this package with a `name` of its own and a method
`answer`; all its fields have defaults, so that its name alone makes one.
"""

import pkgutil
from importlib import import_module
from inspect import signature

from controllers.resources.policies.callback import CallbackOnDemand
from controllers.resources.policies.lock import Lock
from controllers.resources.policies.pause import PauseOnDemand
from controllers.resources.policies.seam import (
    KEEP,
    Answer,
    AnswerKind,
    ConflictPolicy,
    Demand,
    check_takes_demand,
    checked,
)
from controllers.resources.policies.stop import StopOnDemand
from models import BadInput, UnknownName
from models.real_numbers import short

_OWN = (Lock, StopOnDemand, PauseOnDemand, CallbackOnDemand)

__all__ = [
    "KEEP",
    "Answer",
    "AnswerKind",
    "CallbackOnDemand",
    "ConflictPolicy",
    "Demand",
    "Lock",
    "PauseOnDemand",
    "StopOnDemand",
    "as_policy",
    "checked",
    "make_policy",
    "policy_classes",
]


def policy_classes() -> dict[str, type[ConflictPolicy]]:
    """Return every policy of this package by its name, in alphabetical order."""
    found: dict[str, type[ConflictPolicy]] = {}
    for info in pkgutil.iter_modules(__path__, __name__ + "."):
        for item in vars(import_module(info.name)).values():
            if (
                isinstance(item, type)
                and item.__module__ == info.name
                and isinstance(getattr(item, "name", None), str)
                and callable(getattr(item, "answer", None))
            ):
                found[item.name] = item  # type: ignore[attr-defined]
    return dict(sorted(found.items()))


def make_policy(name: str, **settings: object) -> ConflictPolicy:
    """Return the policy of a name.

    Args:
        name: as `policy_classes` lists it.
        settings: fields of the policy's class.

    Raises:
        UnknownName: no policy has this name, or this one has no such setting.
    """
    classes = policy_classes()
    if not isinstance(name, str) or name not in classes:
        said = name if isinstance(name, str) else short(name)
        raise UnknownName("Conflict policy", said, classes, "this manager")
    known = signature(classes[name]).parameters
    for setting in settings:
        if setting not in known:
            raise UnknownName("Setting", setting, known, f"policy {name!r}")
    return classes[name](**settings)


def as_policy(given: object) -> ConflictPolicy:
    """Return the policy that a caller gave, by itself or by its name.

    Raises:
        UnknownName: no policy has this name.
        BadInput: it is no policy: a class of policies is none yet.
    """
    if isinstance(given, str):
        return make_policy(given)
    if type(given) in _OWN:
        return given  # type: ignore[return-value]  # it was checked when it was made
    answer = getattr(given, "answer", None)
    has_all = isinstance(getattr(given, "name", None), str) and callable(answer)
    if isinstance(given, type) or not has_all:
        raise BadInput(
            f"policy is {short(given)}; give an object with `name` and `answer`, such "
            f"as StopOnDemand(), or one of {', '.join(policy_classes())}."
        )
    check_takes_demand(answer, f"`answer` of policy {short(given)}")
    return given  # type: ignore[return-value]  # it has all that one has
