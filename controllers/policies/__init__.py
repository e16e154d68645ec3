"""Policies: laws from observations to set-points, learnt elsewhere, as controllers.

policy          interface for Python policies, and the controller that runs one
layout          names, gains and observation of a policy, from metadata or YAML
metadata        metadata that holosoma and mjlab write into their ONNX files
terms           observation vector, term by term
onnx_policy     policy in an ONNX file
choice          text `policy:FILE` of a command line to its controller
layouts/        layouts of published policies whose files do not contain them
"""
