"""Writes the pages that are generated from the program: `make docs`. A test checks that they are up to date."""

from __future__ import annotations

import contextlib
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
from ddpdoctor.model.record import fields_of
from ddpdoctor.model.report import SCHEMA, Report
from ddpdoctor.repro import catalogue

try:
    from docs import picture, precision
except ImportError:  # run as a script, from its own folder
    import picture  # type: ignore[import-not-found,no-redef]
    import precision  # type: ignore[import-not-found,no-redef]

DOCS = Path(__file__).parent
TUTORIAL = DOCS / "tutorial"
_MADE = "<!-- made by `make docs`; change the program instead -->\n\n"


def pages() -> dict[Path, str]:
    """Every generated file with its text."""
    made = {DOCS / "commands.md": _commands(), DOCS / "report.schema.json": _schema(), DOCS / "repro.md": _repro()}
    made[DOCS / "lint-precision.md"] = _MADE.replace("the program", "benchmarks/lint_first_looks") + precision.text()
    made[DOCS / "diagnosis.svg"] = picture.svg()
    made[TUTORIAL / "README.md"] = _tutorial()
    for prefix, folder, title in (
        ("DD1", "rules", "Lint rules"),
        ("DD2", "diagnoses", "Diagnoses"),
        ("DD3", "checks", "Checks"),
    ):
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
    """Sets the terminal width that argparse assumes."""
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
    calls = {" ".join(("ddpdoctor", *argv)): help_of(*argv) for argv in commands}
    blocks = [f"## {call}\n\n```console\n$ {call} --help\n{said}```\n" for call, said in calls.items()]
    return _MADE + "# Commands\n\n" + "\n".join(blocks)


_REPRO = """# The cases of `ddpdoctor repro`

Each case is a realistic program in a broken version, `broken.py`, and a fixed version, `fixed.py`. `repro run NAME`
starts it on real ranks under `ddpdoctor watch` and compares the verdict with what `fixture.toml` expects: outcome,
code, culprits, line, whether the deadlock is proven, and the time to the report. "Silent harm" cases (`harm` below) do
not hang; they run without `watch`. For these, the numbers that the program measures itself and the findings of
`ddpdoctor lint` are compared.

```console
$ ddpdoctor repro run skipped-batch                       # on gloo and the CPU
$ ddpdoctor repro run skipped-batch --fixed --ranks 4
$ ddpdoctor repro run skipped-batch --backend nccl        # on the GPUs of this machine
$ ddpdoctor repro all --jobs 2 --json > results.json      # with --backend nccl, all that run there
```

## With a framework

Some cases happen inside a framework: Accelerate, DeepSpeed, Lightning, Ray Train, torchdata, the Trainer of
transformers. They are started as people start such a program (`torchrun`, `accelerate launch`, or `python` where the
framework starts its ranks itself), and need packages that the others do not. `pip install 'ddpdoctor[frameworks]'`
installs all of them, in the versions that the cases were written for. If a package is missing, `repro run` names it in
one line, starts nothing, and its exit status is 2; `repro all` skips the case and says so.

In a checkout, `make test-frameworks` creates an environment of their own (`.venv-frameworks`, about 2 GB) and runs all
of them, broken and fixed. `make test` runs those whose packages happen to be installed and skips the others, naming
what is missing.

## On NCCL

`--backend nccl` gives each rank a GPU. If there are fewer GPUs than ranks, ranks share them, which requires NCCL 2.30
(`NCCL_MULTI_RANK_GPU_ENABLE=1`, set for the run); the case then runs with two ranks if two can show the fault. If a
requirement is missing, nothing is started: one line names it, and the exit status is 2. This happens with a torch
without NCCL, without a GPU, with fewer GPUs than ranks and an NCCL before 2.30, and with a torch that could not be
queried. In a checkout, `make test-gpu` runs every case that can, broken and fixed, or says in one line why there is
nothing to run, with exit status 0.

**What was seen.** On 2026-11-26 all cases that run on NCCL ran on one H200 that two to four ranks shared (torch 2.11,
NCCL 2.31.2), except for two: `wrong-device` needs a GPU for each rank, and `uninterruptible-io` needs what that machine
lacked. None had run on a GPU before.

- All 50 fixed programs came to their ends, none was called hung or slow. The six that do harm without a hang showed it.
- Of the 44 that hang, crash or are slow, 34 were told rightly at first sight. The other ten, all undecided or wrong
  with `likely` except one wrong `certain`, showed what is different with NCCL, and were mended. Nine of them ran again
  after that and were right; `join-misuse`, the tenth, now runs on gloo only.
- What is different: a rank that has left early is in `destroy_process_group()` and keeps a core busy there until the
  others come, so it seemed to work; a send returns before it is taken, and the recorder shows that only in batches; one
  side of a divergence may be a round further, since operations of unequal size are paired; a barrier is an all-reduce,
  and can be paired with any other.
- Without a proof a hang is reported 15.9 to 16.6 s after the last progress with `--stall-after 15`.
- The line was right in all but two, where ranks stand at another line than with gloo.

The bundles of these runs are part of the tests (`tests/unit/diagnose/test_nccl_runs.py`): every change is judged on
them.

With NCCL a verdict is weaker than with gloo:

- A process continues once it has launched a collective and blocks later, where it needs a result.
- The state of a GPU is visible only through torch's Flight Recorder, so no *deadlock* is proven, and the *time* is that
  of a suspected hang.
- NCCL does not compare the sizes, types or kinds of operations that it matches. If ranks issue different numbers of
  operations, one rank ends up waiting, possibly later than on gloo. If a fault can end in wrong numbers or an error
  instead of a hang, the case runs on gloo only.

The last column lists the checks that are skipped on NCCL, or the reason why a case supports one backend only.

| code | case | ranks | needs | outcome | backends | skipped on NCCL, or why one backend only |
|---|---|---|---|---|---|---|
"""


def _tutorial() -> str:
    """The tutorial, with the program, and what lint and the kept run print, filled in."""
    text = (TUTORIAL / "README.md").read_text(encoding="utf-8")
    program = (TUTORIAL / "train.py").read_text(encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        main.main(["lint", "--no-cache", str(TUTORIAL / "train.py")])
    for before, filled, after in (
        ('```python title="train.py"\n', program, "```\n"),
        ("$ ddpdoctor lint train.py\n", said.getvalue().replace(f"{TUTORIAL}/", ""), "```\n"),
        ("saved step 20\n\n", picture.text(), "\nddpdoctor: the job was stopped"),
    ):
        head, _, rest = text.partition(before)
        text = f"{head}{before}{filled}{after}{rest.partition(after)[2]}"
    return text


def _repro() -> str:
    rows = [
        f"| {case.code} | {case.name} | {case.ranks} | {', '.join(case.needed)} | {case.expected_ending} "
        f"| {', '.join(case.backends)} "
        f"| {case.only_because or ', '.join(case.nccl_differs) or 'nothing is skipped'} |"
        for case in catalogue.load_all(catalogue.root())
    ]
    return _MADE + _REPRO + "\n".join(rows) + "\n"


def _index(title: str, found: list[explain.CodePage]) -> str:
    rows = [f"| [{page.code}]({page.code}.md) | {page.name} | {_first_sentence(page)} |" for page in found]
    return "\n".join((f"{_MADE}# {title}\n", "| code | name | what |", "|---|---|---|", *rows)) + "\n"


def _first_sentence(page: explain.CodePage) -> str:
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
    if isinstance(kind, type) and fields_of(kind) is not None:
        return _schema_of_fields(kind, definitions)
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


def _schema_of_fields(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # a StackNode holds StackNodes
        hints = typing.get_type_hints(kind)
        fields = list(fields_of(kind) or ())
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
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(DOCS.parent))
