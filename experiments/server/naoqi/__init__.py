"""The simulated robot as a NAOqi robot: services that programs reach with `qi`.

    programs -> doors -> exported services -> motion, memory, devices, system -> robot

`doors` lets each program in as a client of its own, which is an owner of the ledger.
`table` lists the services. `exported` turns their methods into those of `qi`, and
`arguments` checks what arrives. `served_robot` is what they act on.
"""
