"""A controller for nao-testbed that spares hot ankles."""

from cool_ankles.controller import ANKLES, CoolAnkles, make_controller

__all__ = ["ANKLES", "CoolAnkles", "make_controller"]
