"""The gate: the only way to a robot's devices, and only with a valid token.

gate                    takes commands, tests them, writes once a slot
slot, batch             the commands of one slot, and those that belong together
shifts                  what goes out on top of the set-points
present                 the set-points in force
device_map, device_writers, outputs    from a leaf to the robot's command
safety, safe_set_points                what holds where authority was lost
trace                   what the gate tells
"""

from controllers.resources.gate.gate import Gate

__all__ = ["Gate"]
