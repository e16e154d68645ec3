"""`nao-testbed naoqi serve`: the command, and the page of `--live`.

The robot, its services and its clients are those of `experiments.server.naoqi`; the
page is the one of `nao-testbed live`.
"""
