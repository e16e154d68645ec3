"""A Python policy as a user writes it, for the robot `two_leg`."""

HOLD = """
from nao_testbed.controllers import ServoGains
import numpy as np

class Hold:
    name, period_s = "hold", 0.04

    def reset(self, robot):
        self.q = robot.posture("Stand").angles
        self.n = 0
        return ServoGains(kp=np.full(6, 30.0), kd=np.full(6, 0.5))

    def step(self, observation):
        self.n += 1
        return self.q + 0.01 * self.n
"""
