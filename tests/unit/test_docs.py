"""The documentation agrees with the program: generated pages, help texts, the report's schema, links."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.report import json as report_json
from docs import generate, picture
from tests.golden.reports import REPORTS

ROOT = Path(__file__).parents[2]
PROSE = [*(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "SECURITY")), *sorted((ROOT / "docs").rglob("*.md"))]
HELP = re.compile(r"^\$ ddpdoctor ([a-z ]*)--help\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
#: argparse lays out help in its own way from 3.13 on; the documents hold the older one
needs_older_argparse = pytest.mark.skipif(sys.version_info >= (3, 13), reason="argparse formats help differently")


def _type_fits(value: object, name: str) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    return isinstance(value, kinds[name]) and (not isinstance(value, bool) or name == "boolean")


def _faults(value: Any, schema: dict[str, Any], root: dict[str, Any], path: str = "$") -> list[str]:
    """Where a value breaks a schema: the few keywords that our schema uses."""
    if "$ref" in schema:
        return _faults(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, path)
    if "anyOf" in schema:
        tried = [_faults(value, option, root, path) for option in schema["anyOf"]]
        return [] if [] in tried else tried[0]
    if value != schema.get("const", value) or value not in schema.get("enum", [value]):
        return [f"{path}: {value!r}"]
    if "type" in schema and not _type_fits(value, schema["type"]):
        return [f"{path}: {value!r} is no {schema['type']}"]
    faults: list[str] = []
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        faults += [f"{path}: no {name}" for name in schema.get("required", []) if name not in value]
        faults += [f"{path}: {name} is not described" for name in value if properties and name not in properties]
        for name, inner in value.items():
            described = properties.get(name, schema.get("additionalProperties", {}))
            faults += _faults(inner, described, root, f"{path}.{name}")
    if isinstance(value, list):
        for i, inner in enumerate(value):
            faults += _faults(inner, schema.get("items", {}), root, f"{path}[{i}]")
    return faults


@needs_older_argparse
def test_generated_pages_are_up_to_date() -> None:
    stale = [str(path) for path, text in generate.pages().items() if not path.exists() or path.read_text() != text]
    assert stale == [], "run `make docs`"


def test_the_kept_run_is_one_of_the_program_in_the_tutorial() -> None:
    (shown,) = (source for path, source in picture.verdict().report.code.items() if path.endswith("/train.py"))
    program = (ROOT / "docs" / "tutorial" / "train.py").read_text()
    assert "\n    dist.barrier()\n" in shown.text
    assert shown.text in program


def test_the_picture_asks_for_nothing() -> None:
    drawn = picture.svg()
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in drawn.replace("url(#screen-", "")
    assert "@import" not in drawn


@needs_older_argparse
@pytest.mark.parametrize("path", PROSE, ids=lambda path: str(path.relative_to(ROOT)))
def test_help_in_prose_is_what_the_program_prints(path: Path) -> None:
    for words, printed in HELP.findall(path.read_text(encoding="utf-8")):
        assert printed == generate.help_of(*words.split())


@pytest.mark.parametrize("path", PROSE, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    prose = CODE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
        assert (path.parent / target).exists(), target


def test_every_test_that_holds_a_promise_is_there() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_fits_its_schema(name: str) -> None:
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text())
    assert _faults(json.loads(report_json.render(REPORTS[name])), schema, schema) == []


def test_the_schema_refuses_what_is_no_report() -> None:
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text())
    value = json.loads(report_json.render(REPORTS["crash"]))
    del value["ranks"][0]["state"]
    value["outcome"] = "fine"
    value["timeline"]["detected"] = "soon"
    value["extra"] = 1
    assert set(_faults(value, schema, schema)) == {
        "$: extra is not described",
        "$.outcome: 'fine'",
        "$.ranks[0]: no state",
        "$.timeline.detected: 'soon' is no number",
    }
