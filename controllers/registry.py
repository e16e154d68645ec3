"""Controllers by name, ours and those of other packages.

A third-party package registers a controller under the entry-point group
`nao_testbed.controllers`; the entry point is a callable that takes the text behind the
colon, or None, and returns a `Controller`.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import cast

from controllers.heat_minimization.longest import Longest, LongestCfg
from controllers.heat_minimization.minheat import MinHeat, MinHeatCfg
from controllers.heat_minimization.nudge import Nudge
from controllers.heat_minimization.set_point_shift import SetPointShiftCfg
from controllers.interface.controller import (
    ConstantStiffness,
    Controller,
    FixedStiffness,
)
from controllers.stiffness import (
    GuardCfg,
    ProductPolicy,
    SmartStiffness,
    SmartStiffnessCfg,
)
from models import BadInput, TestbedError, UnknownName
from models.values import number_of

ENTRY_POINT_GROUP = "nao_testbed.controllers"
ControllerFactory = Callable[[str | None], Controller]


def _plain(name: str, make: Callable[[], Controller]) -> ControllerFactory:
    """Return a factory that takes no argument."""

    def factory(argument: str | None) -> Controller:
        if argument is not None:
            raise BadInput(f"controller {name!r} takes no argument; got {argument!r}.")
        return make()

    return factory


def _constant(argument: str | None) -> Controller:
    try:
        value = number_of(argument or "")
    except ValueError:
        raise BadInput(
            f"controller 'constant:{argument or ''}' has no number; give a stiffness "
            "from 0 to 1, as in 'constant:0.6'."
        ) from None
    return ConstantStiffness(value, name=f"constant:{argument}")


def _guarded() -> SmartStiffnessCfg:
    return SmartStiffnessCfg(guard=GuardCfg())


def _smart() -> Controller:
    return SmartStiffness(_guarded())


def _smart_document() -> Controller:
    return SmartStiffness(SmartStiffnessCfg(name="smart-document"))


def _smart_full() -> Controller:
    cfg = SmartStiffnessCfg(name="smart-full", model="full", add_friction=True)
    return SmartStiffness(cfg)


def _smart_product() -> Controller:
    cfg = SmartStiffnessCfg(name="smart-product", policy=ProductPolicy())
    return SmartStiffness(cfg)


def _minheat() -> Controller:
    return MinHeat(MinHeatCfg(limits=_guarded()))


def _longest() -> Controller:
    return Longest(LongestCfg(limits=_guarded()))


def _minheat_no_gear() -> Controller:
    shift = SetPointShiftCfg(gear_share=0.0)
    cfg = MinHeatCfg(name="minheat-no-gear", shift=shift, limits=_guarded())
    return MinHeat(cfg)


BUILT_IN: Mapping[str, ControllerFactory] = {
    "fixed": _plain("fixed", FixedStiffness),
    "constant": _constant,
    "smart": _plain("smart", _smart),
    "smart-document": _plain("smart-document", _smart_document),
    "smart-full": _plain("smart-full", _smart_full),
    "smart-product": _plain("smart-product", _smart_product),
    "nudge": _plain("nudge", Nudge),
    "minheat": _plain("minheat", _minheat),
    "longest": _plain("longest", _longest),
    "minheat-no-gear": _plain("minheat-no-gear", _minheat_no_gear),
}
"""Our controllers: no limit but the motor's; one value; the simplified model of
ES2659053 under a guard that catches pushes, and without; its full model; the simplified
one under the product's rules; the nudges of teams; set-points shifted to the least
heat and to the longest time until a motor is too hot, both guarded; the former without
the help of stuck gears."""


def controller_names() -> tuple[str, ...]:
    """Return the names that `make_controller` knows, ours first."""
    others = sorted(entry_points(group=ENTRY_POINT_GROUP).names - BUILT_IN.keys())
    return (*BUILT_IN, *others)


def make_controller(spec: str) -> Controller:
    """Make the controller that `spec` names; call its `reset(robot)` before use.

    Args:
        spec: a name, or `name:argument` as in `constant:0.6`. Our names go before those
            of other packages.

    Raises:
        UnknownName: no controller has this name.
        BadInput: the argument does not fit, or another package's controller fails to
            load.
    """
    name, colon, text = spec.strip().partition(":")
    argument = text if colon else None
    if name in BUILT_IN:
        return BUILT_IN[name](argument)
    found = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if not found:
        raise UnknownName("Controller", name, controller_names(), "this installation")
    (point, *_) = found
    try:
        factory = cast(ControllerFactory, point.load())
    except Exception as error:  # whatever a foreign module raises
        raise BadInput(
            f"controller {name!r} ({point.value}) cannot be loaded: {error}. "
            "Reinstall the package that brings it."
        ) from error
    try:
        return factory(argument)
    except TestbedError:
        raise
    except Exception as error:  # whatever a foreign factory raises
        raise BadInput(f"controller {spec!r} ({point.value}): {error}.") from error


def check_controllers(names: Sequence[str]) -> None:
    """Look whether each of them can be made, and none comes twice.

    Raises:
        BadInput: one cannot, or does; or there is none.
    """
    if len(set(names)) != len(names) or not names:
        raise BadInput(
            f"controllers are {', '.join(names) or 'none'}; name each controller once."
        )
    for name in names:
        make_controller(name)
