"""Prediction of the results published with the method, from robots that fit without it.

prediction          configuration, bands, and their presentation
sampling            all robots that fit, with weights
surrogate           a Gaussian process that proposes robots
robot_cache         cache of the simulated robots
prediction_figures  the table, the figure, the command
"""
