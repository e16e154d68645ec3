"""Prediction of the results published with the method, from robots that fit without it.

prediction          configuration, bands, and their presentation
sampling            all robots that fit, each with its weight
surrogate           a Gaussian process that proposes them
robot_cache         file of the simulated robots
prediction_figures  the table, the figure, the command
"""
