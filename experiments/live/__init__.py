"""Robots live on a page: seen while they run, disturbed and steered by a person.

    robot (a process each, real time, recorded) <-> scene (viser) <-> door <-> browser

`robots` runs a robot and obeys an operator, who is an owner like others; `scene` shows
and asks; `server` is the only way in.
"""
