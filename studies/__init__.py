"""Studies: experiments on top of the testbed that answer one question each.

They run from a checkout and are not installed: `python -m studies.NAME`, or
`nao-testbed study`, which lists them. The product imports none of them.

preset_search      find the preset `document` from what is published without the method
predict_published  predict the published results with it, from all robots that fit
hand_guiding       measure the force that moves a wrist by 5 cm
example_log        write the log of a knee that ships in `notebooks/data`
commands           their command lines
"""
