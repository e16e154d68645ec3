"""Studies: experiments with the testbed, each of which answers one question.

They run from a checkout and are not installed: `python -m studies.NAME`, or
`nao-testbed study`, which lists them. The product does not import them.

preset_search      find the preset `document` from values published without the method
predict_published  predict the published results with it, from all robots that fit
hand_guiding       measure the force that moves a wrist by 5 cm
stand_30           print the tables of the sweeps stand_30_* and pushed_*
example_log        write the knee log of `notebooks/data`
commands           their command lines
"""
