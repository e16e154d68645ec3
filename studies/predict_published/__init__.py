"""Predict what is published with the method from all robots that fit without it.

prediction          what is asked, and what comes out
sampling            all robots that fit, each with its weight
surrogate           a Gaussian process that proposes them
kept_robots         robots that were simulated, kept in a file
prediction_figures  the table, the figure, the command
"""
