"""The Python code in a Jupyter notebook: its code cells joined, without IPython's own syntax. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.source import DecodedSource, Unreadable, parse

#: cell magics whose body is Python that runs here; the body of any other magic is text, another language or a file
_PYTHON = frozenset({"capture", "memit", "mprun", "prun", "time", "timeit"})
_MAGIC = late_pattern(r"(?P<indent>\s*)(?:%%?[A-Za-z]|!|\?|,\w|;\w|/\w)")
_ASSIGNED = late_pattern(r"(?P<target>\s*[\w.,\[\] ]+=\s*)(?:%[A-Za-z]|!)")
_QUESTION = late_pattern(r"(?P<indent>\s*)%{0,2}[\w.*\[\]]+\?{1,2}\s*$")


def decode(raw: bytes) -> DecodedSource | Unreadable:
    """The code cells of a notebook as one source; empty for a notebook in another language."""
    document = _document(raw)
    if isinstance(document, Unreadable):
        return document
    return _joined(document["cells"] if _is_python(document.get("metadata")) else [])


class Cell(NamedTuple):
    """A cell as it is written."""

    #: from 1, with those of text
    number: int
    is_code: bool
    lines: Sequence[str]


def cells_of(raw: bytes) -> Iterator[Cell]:
    """All cells of a notebook, none of one that cannot be read."""
    document = _document(raw)
    cells = document["cells"] if isinstance(document, dict) else ()
    for number, cell in enumerate(cells, start=1):
        yield Cell(number, _entry(cell, "cell_type") == "code", _written(_entry(cell, "source")))


def _document(raw: bytes) -> dict[str, Any] | Unreadable:
    """What a notebook's file contains, with a list of cells."""
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        return Unreadable(f"is not a notebook: no JSON: {error.msg}", error.lineno, error.colno)
    except UnicodeDecodeError as error:
        return Unreadable(f"cannot decode: {error}", raw.count(b"\n", 0, error.start) + 1)
    except (ValueError, RecursionError) as error:
        return Unreadable(f"is not a notebook: {error}")
    if isinstance(document, dict) and isinstance(document.get("cells"), list):
        return document
    old = isinstance(document, dict) and "worksheets" in document
    why = "its format is older than 4: `jupyter nbconvert --to notebook` renews it" if old else "no list of cells"
    return Unreadable(f"is not a notebook that can be read: {why}")


def _is_python(metadata: Any) -> bool:
    """Whether the notebook's language is Python, which is also the default."""
    said = [_entry(_entry(metadata, "kernelspec"), "language"), _entry(_entry(metadata, "language_info"), "name")]
    named = [language.lower() for language in said if isinstance(language, str)]
    return not named or any("python" in language for language in named)


def _entry(table: Any, key: str) -> Any:
    return table.get(key) if isinstance(table, dict) else None


def _joined(cells: list[Any]) -> DecodedSource:
    lines: list[str] = []
    shown: list[str] = []
    places: list[tuple[int, int]] = []
    faults: list[Unreadable] = []
    for number, cell in enumerate(cells, start=1):
        if _entry(cell, "cell_type") != "code":
            continue
        written = _written(_entry(cell, "source"))
        code = _python(written)
        if isinstance(code, Unreadable):
            faults.append(Unreadable(code.message, len(lines) + code.line, code.column))
            code = [""] * len(written)
        lines += code
        shown += written
        places += ((number, index) for index in range(1, len(code) + 1))
    return DecodedSource("\n".join(lines) + "\n", "utf-8", tuple(places), tuple(faults), tuple(shown))


def _written(content: Any) -> list[str]:
    text = "".join(map(str, content)) if isinstance(content, list) else str(content or "")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _python(written: list[str]) -> list[str] | Unreadable:
    """A cell's lines: unchanged if they are Python, else without magics; or why they are not Python."""
    text = "\n".join(written)
    first = text.lstrip()
    if first.startswith("%%") and re.split(r"\W", first[2:], maxsplit=1)[0] not in _PYTHON:
        return [""] * len(written)
    if not isinstance(parse(text), Unreadable):
        return written
    lines = _without_magics(_outdented(written))
    fault = parse("\n".join(lines))
    return fault if isinstance(fault, Unreadable) else lines


def _outdented(lines: list[str]) -> list[str]:
    """Without the indentation of the first line, which IPython takes off all lines that begin with it."""
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return [line.removeprefix(indent) for line in lines]


def _without_magics(lines: list[str]) -> list[str]:
    kept: list[str] = []
    continued = False
    for line in lines:
        magic = _MAGIC.match(line) or _QUESTION.match(line)
        assigned = _ASSIGNED.match(line)
        if continued:
            kept.append("")
        elif magic is not None:
            kept.append(f"{magic['indent']}pass")
        elif assigned is not None:
            # stands for an unknown value, in IPython's own name
            kept.append(f"{assigned['target']}get_ipython()")
        else:
            kept.append(line)
        # shell commands continue over lines by a backslash
        continued = (continued or bool(magic or assigned)) and line.endswith("\\")
    return kept
