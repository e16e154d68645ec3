"""Command `nao-testbed naoqi serve`, and the page of `--live`.

Robot, services and clients come from `experiments.server.naoqi`; the page is that of
`nao-testbed live`.
"""
