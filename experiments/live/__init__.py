"""Live robots on a web page, where a person can watch, disturb and command them.

    robot (a process each, real time, recorded) <-> page (viser, door) <-> browser

`robot` runs one robot and its operator, an owner like any other. `page` displays robots
and accepts requests through its server. `replay` shows a recording instead.
`real_robot` runs a controller on a robot at an address, without a page.
"""
