"""Gate: the only access to a robot's devices, with a valid token.

gate          accepts and checks commands, writes once per slot
slot          commands of one slot, their batches, and the trace
device_map, writers, outputs    from a leaf to the robot's command
shifts        shifts added to the set-points
safety        safe set-points after a loss, effort caps, limp motors
"""

from nao_testbed.controllers.arbitration.gate.gate import Gate

__all__ = ["Gate"]
