"""Named settings of the heat experiment, `NAME.yaml`, and the search for one of them.

document.yaml  the setting that reproduces the published experiment
search         how it was found: `nao-testbed preset-search`
sampling       all robots that fit, each with its weight
prediction     what they predict: `nao-testbed predict-published`
"""
