"""From a file to a plan, or to all that is wrong in it, each with its line.

load                    reads a file; read_* each part of it
contradictions, too_early, repairs, owner_tree, way_needs    what could never be
scene, notes, names_in_file, group_ids, wakings, one_line    what they share
"""
