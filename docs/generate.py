"""Writes the pages that are made from the program: `make docs`. A test holds them to it."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from ddpdoctor.cli import explain, main
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import SCHEMA, Report

DOCS = Path(__file__).parent
_MADE = "<!-- made by `make docs`; change the program instead -->\n\n"


def pages() -> dict[Path, str]:
    """Every generated file with its text."""
    made = {DOCS / "commands.md": _commands(), DOCS / "report.schema.json": _schema()}
    for prefix, folder, title in (("DD1", "rules", "Lint rules"), ("DD2", "diagnoses", "Diagnoses")):
        found = [page for page in explain.pages() if page.code.startswith(prefix)]
        for page in found:
            made[DOCS / folder / f"{page.code}.md"] = _MADE + explain.text_of(page)
        made[DOCS / folder / "README.md"] = _index(title, found)
    return made


def help_of(*argv: str) -> str:
    """What `ddpdoctor ... --help` prints on a terminal of 80 columns."""
    with _columns("80"), contextlib.redirect_stdout(io.StringIO()) as said:
        main.main([*argv, "--help"])
    return said.getvalue()


@contextlib.contextmanager
def _columns(width: str) -> Iterator[None]:
    """The width that argparse takes the terminal to have."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = width
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def _commands() -> str:
    commands: list[tuple[str, ...]] = [(), *((name,) for name in main.COMMANDS), ("repro", "run"), ("repro", "all")]
    blocks = [f"```console\n$ {' '.join(('ddpdoctor', *argv))} --help\n{help_of(*argv)}```\n" for argv in commands]
    return _MADE + "# Commands\n\n" + "\n".join(blocks)


def _index(title: str, found: list[explain.Page]) -> str:
    rows = [f"| [{page.code}]({page.code}.md) | {page.name} | {_first_sentence(page)} |" for page in found]
    return "\n".join((f"{_MADE}# {title}\n", "| code | name | what |", "|---|---|---|", *rows)) + "\n"


def _first_sentence(page: explain.Page) -> str:
    told = page.text.partition("## What it does\n" if page.code < "DD2" else "## What\n")[2]
    paragraph = told.partition("\n\n")[0]
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".") + "."


def _schema() -> str:
    """JSON schema of the report, from the dataclasses that it is encoded from."""
    definitions: dict[str, Any] = {}
    root = _schema_of(Report, definitions)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "What `ddpdoctor watch --json FILE` and `ddpdoctor diagnose --json FILE` write.",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }
    definitions["Report"]["properties"]["schema"] = {"const": SCHEMA}
    return json.dumps(schema, indent=2) + "\n"


def _schema_of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if isinstance(kind, typing.NewType):
        kind = kind.__supertype__
    if kind is RankSet:
        return {"type": "array", "items": {"type": "integer", "minimum": 0}}
    if dataclasses.is_dataclass(kind):
        return _schema_of_dataclass(kind, definitions)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (a for a in arguments if a is not type(None))
        return {"anyOf": [_schema_of(inner, definitions), {"type": "null"}]}
    if origin is tuple:
        return {"type": "array", "items": _schema_of(arguments[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema_of(arguments[1], definitions)}
    return {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[kind]}


def _schema_of_dataclass(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # a StackNode holds StackNodes
        hints = typing.get_type_hints(kind)
        fields = [field.name for field in dataclasses.fields(kind)]
        definitions[name] = {
            "type": "object",
            "description": (kind.__doc__ or "").strip().partition("\n")[0],
            "properties": {field: _schema_of(hints[field], definitions) for field in fields},
            "required": fields,
        }
    return {"$ref": f"#/$defs/{name}"}


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(DOCS.parent))
