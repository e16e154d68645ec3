"""From a plan to a run, its verdicts and its folder.

run                     starts it; runner goes from slot to slot; scenario_run, result
stage                   what it plays on; actions, disturbance: what is done to that
facts, fact_finder, watches, cues    what conditions see, and what waits for them
judges, proof, mishaps  who looks on
trace_keeper, trace_file    what is kept
"""
