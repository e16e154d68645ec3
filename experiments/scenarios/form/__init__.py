"""What a scenario file may say, as pydantic models: they make the JSON Schema too.

scenario_file           the root; behaviours, condition, events, expectations, settings
json_schema             for editors
"""
