"""A controller to be tried: by name, as a factory, or as an instance."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from controllers.registry import make_controller
from controllers.robot_interface import Controller
from models import BadInput, TestbedError

ControllerChoice = str | Controller | Callable[[], Controller]
"""A name for `make_controller`; a class or function without arguments; an instance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenController:
    """A controller that is ready for one trial."""

    name: str
    """How sentences call it."""
    controller: Controller
    is_fresh: bool
    """Whether it was made for this trial: then an equal trial need not be run again."""


def choose_controller(choice: ControllerChoice) -> ChosenController:
    """Make or take the controller.

    Raises:
        BadInput: it is none, has no name, or its factory fails.
    """
    if isinstance(choice, str):
        return ChosenController(
            name=choice, controller=make_controller(choice), is_fresh=True
        )
    if _is_controller(choice):
        return _named(cast(Controller, choice), is_fresh=False)
    if not callable(choice):
        raise BadInput(
            f"controller is {choice!r}; give a name such as 'smart', a class or "
            "function that makes one, or an instance with name, reset and step."
        )
    try:
        made = choice()
    except TestbedError:
        raise
    except Exception as error:  # whatever a foreign factory raises
        raise BadInput(
            f"{_called(choice)} makes no controller: {type(error).__name__}: {error}. "
            "It is called without arguments."
        ) from error
    if not _is_controller(made):
        raise BadInput(
            f"{_called(choice)} makes {made!r}, which is no controller: it needs a "
            "name, reset(robot) and step(observation)."
        )
    return _named(made, is_fresh=True)


def _is_controller(value: object) -> bool:
    return not isinstance(value, type) and all(
        callable(getattr(value, method, None)) for method in ("reset", "step")
    )


def _called(factory: object) -> str:
    return str(getattr(factory, "__qualname__", repr(factory)))


def _named(controller: Controller, *, is_fresh: bool) -> ChosenController:
    name = getattr(controller, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise BadInput(
            f"controller {type(controller).__name__} has name {name!r}; give it a text "
            "of its own, as in name = 'my-controller'."
        )
    return ChosenController(name=name, controller=controller, is_fresh=is_fresh)
