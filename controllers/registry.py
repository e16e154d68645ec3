"""Controllers by name, built-in and from other packages.

A third-party package registers a controller under the entry-point group
`nao_testbed.controllers`; the entry point is a callable that takes the text after the
colon, or None, and returns a `Controller`. For built-in controllers with limits after
ES2659053, this text is an offset law: `smart:Crouch=0.1+warm`.
"""

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points

from nao_testbed.controllers.heat_minimization.minheat import MinHeat, MinHeatCfg
from nao_testbed.controllers.heat_minimization.nudge import Nudge
from nao_testbed.controllers.heat_minimization.set_point_shift import SetPointShiftCfg
from nao_testbed.controllers.interface.controller import (
    ConstantCurrent,
    ConstantStiffness,
    Controller,
    FixedStiffness,
)
from nao_testbed.controllers.interface.entry_points import load_entry_point
from nao_testbed.controllers.policies.choice import make_policy_controller
from nao_testbed.controllers.policies.policy import PolicyController
from nao_testbed.controllers.stiffness import (
    DisturbanceCfg,
    GuardCfg,
    PayloadStiffness,
    PostureOffset,
    ProductPolicy,
    SmartStiffness,
    SmartStiffnessCfg,
    read_offset,
)
from nao_testbed.models import BadInput, Robot, TestbedError, UnknownName
from nao_testbed.models.errors import FOREIGN_ERRORS
from nao_testbed.models.values import number_of, short

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


def _current(argument: str | None) -> Controller:
    try:
        value = number_of(argument or "")
    except ValueError:
        raise BadInput(
            f"controller 'current:{argument or ''}' has no number; give the largest "
            "current of every motor in A, as in 'current:0.5'."
        ) from None
    return ConstantCurrent(value, name=f"current:{argument}")


def _limited(
    name: str,
    limits: SmartStiffnessCfg,
    make: Callable[[str, SmartStiffnessCfg], Controller] | None = None,
) -> ControllerFactory:
    """Return a factory whose argument is the offset of its limits.

    Args:
        name: name of the controller.
        limits: configuration of the limits; policy and offset are created per call.
        make: constructor from name and limits; None: the limits alone.
    """

    def factory(argument: str | None) -> Controller:
        full = name if argument is None else f"{name}:{argument}"
        offset = PostureOffset() if argument is None else read_offset(argument)
        cfg = dataclasses.replace(
            limits, offset=offset, policy=copy.deepcopy(limits.policy)
        )
        if make is None:
            return SmartStiffness(dataclasses.replace(cfg, name=full))
        return make(full, cfg)

    return factory


def _payload(name: str, limits: SmartStiffnessCfg) -> Controller:
    return PayloadStiffness(dataclasses.replace(limits, name=name))


def _minheat(name: str, limits: SmartStiffnessCfg) -> Controller:
    return MinHeat(MinHeatCfg(name=name, limits=limits))


def _minheat_no_gear(name: str, limits: SmartStiffnessCfg) -> Controller:
    shift = SetPointShiftCfg(gear_share=0.0)
    return MinHeat(MinHeatCfg(name=name, shift=shift, limits=limits))


_GUARDED = SmartStiffnessCfg(guard=GuardCfg())
_PAYLOAD = SmartStiffnessCfg(guard=GuardCfg(), disturbance=DisturbanceCfg())
_FULL = SmartStiffnessCfg(model="full", add_friction=True)

BUILT_IN: Mapping[str, ControllerFactory] = {
    "fixed": _plain("fixed", FixedStiffness),
    "constant": _constant,
    "current": _current,
    "smart": _limited("smart", _GUARDED),
    "nudge": _plain("nudge", Nudge),
    "minheat": _limited("minheat", _GUARDED, _minheat),
}
"""Built-in controllers: no limit except the motor's; constant stiffness; constant
current; the simplified model of ES2659053 with a guard against pushes; the nudges of
RoboCup teams; set-points shifted to minimum heat, with a guard."""

VARIANTS: Mapping[str, ControllerFactory] = {
    "smart-document": _limited("smart-document", SmartStiffnessCfg()),
    "smart-full": _limited("smart-full", _FULL),
    "smart-payload": _limited("smart-payload", _PAYLOAD, _payload),
    "smart-product": _limited(
        "smart-product", SmartStiffnessCfg(policy=ProductPolicy())
    ),
    "minheat-no-gear": _limited("minheat-no-gear", _GUARDED, _minheat_no_gear),
}
"""Variants for comparison. Of `smart`: without guard, with the full model, with a
payload estimated from the soles, with the product's rules. Of `minheat`: without gear
friction. See docs/guides/controllers.md."""
POLICY = "policy"
"""Controller whose argument is a file; see docs/guides/policies.md."""


def controller_names() -> tuple[str, ...]:
    """Return the available names, built-in first, without `VARIANTS`."""
    builtin = BUILT_IN.keys() | VARIANTS.keys() | {POLICY}
    others = sorted(entry_points(group=ENTRY_POINT_GROUP).names - builtin)
    return (*BUILT_IN, *others)


def make_controller(spec: str) -> Controller:
    """Create the controller that `spec` names; call its `reset(robot)` before use.

    Args:
        spec: a name, or `name:argument` as in `constant:0.6` and `smart:warm`. Built-in
            names take precedence over those of other packages.

    Raises:
        UnknownName: no controller has this name.
        BadInput: the argument is invalid, or another package's controller fails to
            load, or is not a controller.
    """
    name, colon, text = spec.strip().partition(":")
    argument = text if colon else None
    builtin = BUILT_IN.get(name) or VARIANTS.get(name)
    if name == POLICY:
        builtin = make_policy_controller
    if builtin is not None:
        return builtin(argument)
    found = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if not found:
        known = (*controller_names(), *VARIANTS)
        raise UnknownName("Controller", name, known, "this installation")
    (point, *_) = found
    factory: ControllerFactory = load_entry_point("controller", point)
    try:
        made = factory(argument)
    except TestbedError:
        raise
    except FOREIGN_ERRORS as error:  # any exception of a foreign factory
        raise BadInput(f"controller {spec!r} ({point.value}): {error}.") from error
    if not all(callable(getattr(made, word, None)) for word in ("reset", "step")):
        raise BadInput(
            f"controller {spec!r} ({point.value}) makes {short(made)}; it must "
            "return an object with `name`, `reset` and `step`."
        )
    return made


def check_controller(spec: str, robot: Robot | None = None) -> None:
    """Check that a controller can be created, and that its offset or policy fits.

    Raises:
        BadInput: it cannot be created.
        UnknownName: the robot has no such posture.
    """
    controller = make_controller(spec)
    if robot is not None and isinstance(controller, PolicyController):
        controller.reset(robot)
    limits = getattr(controller, "limits", controller)
    if robot is not None and isinstance(limits, SmartStiffness):
        limits.cfg.offset.reset(robot)


def check_controllers(names: Sequence[str], robot: Robot | None = None) -> None:
    """Check that each controller can be created, and that names are unique.

    Args:
        names: names in the format of `make_controller`.
        robot: robot for the postures of an offset; None: postures are not checked.

    Raises:
        BadInput: a name is invalid or repeated, or there is none.
        UnknownName: the robot has no such posture.
    """
    if len(set(names)) != len(names) or not names:
        raise BadInput(
            f"controllers are {', '.join(names) or 'none'}; name each controller once."
        )
    for name in names:
        check_controller(name, robot)
