"""One self-contained HTML page from run folders: `nao-testbed report RUN...`.

    read_source -> section_of -> render_page

`experiments.write_report` runs all steps.

A folder is readable in any state, also after a crash. A section is plain data: tables,
figures, a replay; only the template contains HTML. The page makes no external requests.
Experiments draw their own parts: `experiments.heat.figures`,
`experiments.sweep.summary.section`, `experiments.scenarios.timeline`; this package
combines them, with the 3-D replay.
"""
