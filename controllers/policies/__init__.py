"""Learnt policies from observations to set-points, as controllers.

policy          interface for Python policies, and the controller that runs one
layout          names, gains and observation of a policy, from metadata or YAML
terms           observation vector, composed of terms
onnx_policy     policy in an ONNX file
cool            policy with slowly shifted set-points
choice          controller from the text `policy:FILE` of a command line
layouts/        layouts of published policies whose files do not contain them
"""
