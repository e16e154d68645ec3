"""Shared parts of figures, tables and pages.

style   palette, frame, labels, files of figures
page    elements of a page as plain data: numbers, tables, figures, sections
"""
