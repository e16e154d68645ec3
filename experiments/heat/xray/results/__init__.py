"""Presentation of an X-ray: sentences, tables, figure."""
