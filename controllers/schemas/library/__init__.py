"""Schemas worth composing, and two small libraries that some of them think with.

Each schema has a file that says what it does; `controllers.schemas.registry` lists
their names. `fuzzy` turns a few words about measured numbers into one number, `grid`
remembers what is where (JD-15).
"""
