"""One self-contained HTML page from run folders: `nao-testbed report RUN...`.

    read_source -> section_of -> render_page

or all of it at once by `experiments.write_report`.

A folder is read as it is, whole or left by a crash; a section is plain data: tables,
figures, a replay; the template alone knows HTML. The page asks for nothing outside
itself. Experiments draw themselves: `experiments.heat.figures`,
`experiments.sweep.summary.section`, `experiments.scenarios.timeline`; here they are put
together, with the 3-D replay.
"""
