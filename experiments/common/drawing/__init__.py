"""What figures, tables and pages of all experiments share.

style   palette, frame, labels, files of figures
page    elements of a page as plain data: numbers, tables, figures, sections
"""
