"""The gate: the only way to a robot's devices, and only with a valid token.

gate          takes commands, tests them, writes once a slot
slot          the commands of one slot, batches of those that belong together, the trace
device_map, writers, outputs    from a leaf to the robot's command
shifts        what goes out on top of the set-points
safety        what holds where authority was lost, caps, motors that are limp
"""

from nao_testbed.controllers.arbitration.gate.gate import Gate

__all__ = ["Gate"]
