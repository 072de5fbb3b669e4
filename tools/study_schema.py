"""Writes docs/schema/study.json, the schema of study files, from the model that checks them."""

import json
from pathlib import Path
from typing import Any

from tailrace.study.definition.model import StudyDefinition

TARGET = Path(__file__).parent.parent / "docs" / "schema" / "study.json"


def schema() -> dict[str, Any]:
    """Editors read it too, and give help while a study file is written."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "study.json",
        **StudyDefinition.model_json_schema(by_alias=True),
        "title": "A study file (TOML)",
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(schema(), ensure_ascii=False, indent=2) + "\n")
