"""The timeline of a scenario: who holds and waits, what goes out, how warm it gets.

draw                    writes it to the run folder; figure makes it of its panels
spans, streams          what it shows, taken from the trace
rows, outputs, temperatures, marks    its panels; canvas, frame, colours: its looks
"""
