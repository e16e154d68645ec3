"""Robots live on a page: seen while they run, disturbed and steered by a person.

    robot (a process each, real time, recorded) <-> page (viser, door) <-> browser

`robot` runs one and obeys an operator, who is an owner like others; `page` shows and
asks, and its server is the only way in; `replay` shows a recording in their place.
`real_robot` runs a controller on a robot at an address, without a page.
"""
