"""Named settings of the heat experiment, `NAME.yaml`, and the search for one of them.

document.yaml  the setting that reproduces the published experiment
search         how it was found: `nao-testbed preset-search`
prediction     what all robots that fit predict: `nao-testbed predict-published`
"""
