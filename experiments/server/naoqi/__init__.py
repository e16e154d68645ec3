"""Simulated robot with the services of NAOqi, for programs that use `qi`.

    programs -> server -> exported services -> motion, memory, devices, system -> robot

`naoqi_server` accepts each program as a separate client, an owner of the ledger.
`table` lists the services. `exported` exports their methods to `qi`, and `arguments`
validates their arguments. `served_robot` is the robot of the services.
"""

import nao_testbed.sim.naoqi  # noqa: F401  # loads `qi` before Pinocchio
