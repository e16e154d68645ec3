"""The JSON Schema of scenario files, for editors that complete and check YAML."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from experiments.scenarios.form.scenario_file import ScenarioFile


def scenario_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12) of what a scenario file may say.

    It knows the keys, the types and the ranges; names, times and what excludes each
    other are for `nao-testbed scenario check`.
    """
    schema = ScenarioFile.model_json_schema(by_alias=True)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "title": "nao-testbed scenario",
    }
