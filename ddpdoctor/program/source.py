"""From bytes to parsed source: encodings, and files that cannot be read. Pure."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from functools import lru_cache

from ddpdoctor.model.record import record
from ddpdoctor.program import fstrings

#: bytes; a larger file is generated data, and parsing it would take minutes and gigabytes
LARGEST = 4_000_000


@record(frozen=True, slots=True)
class Unreadable:
    """Why a file could not be read as Python; line and column from 1."""

    message: str
    line: int = 1
    column: int = 1


@record(frozen=True, slots=True)
class DecodedSource:
    """Decoded source. `cells` maps a line of a notebook's joined code to (cell from 1, line in it)."""

    text: str
    encoding: str = "utf-8"
    cells: tuple[tuple[int, int], ...] = ()
    #: cells that do not parse, by line of the joined code, where those lines are blank
    faults: tuple[Unreadable, ...] = ()
    #: the cells' original lines, as many as the joined code has
    shown: tuple[str, ...] = ()


def decode(raw: bytes) -> DecodedSource | Unreadable:
    """Decode a file as Python would: BOM, coding comment, else UTF-8."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        return Unreadable(f"cannot decode: {error}", raw.count(b"\n", 0, error.start) + 1)
    except (SyntaxError, LookupError, UnicodeError) as error:
        # not every codec reports the byte at which it fails
        return Unreadable(f"cannot decode: {error}")
    if text.startswith("\ufeff"):
        text = text[1:]
    return DecodedSource(text.replace("\r\n", "\n").replace("\r", "\n"), encoding)


def parse(text: str) -> ast.Module | Unreadable:
    """Parse; anything that the parser rejects is an Unreadable with its line."""
    if "\x00" in text:
        return Unreadable("does not parse: there is a NUL byte", text.count("\n", 0, text.index("\x00")) + 1)
    parsed = _parsed(text)
    if isinstance(parsed, ast.Module):
        return parsed
    older = fstrings.for_older_parsers(text)
    again = _parsed(older) if older != text else parsed
    return again if isinstance(again, ast.Module) else parsed


@lru_cache(maxsize=32)  # of a file in which there are several findings, all are asked about one after the other
def tree_of(raw: bytes) -> ast.Module | None:
    """The syntax tree of a file; None if it cannot be read."""
    decoded = decode(raw)
    tree = parse(decoded.text) if isinstance(decoded, DecodedSource) else decoded
    return tree if isinstance(tree, ast.Module) else None


def _parsed(text: str) -> ast.Module | Unreadable:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        column = error.offset if error.offset is not None and error.offset > 0 else 1
        return Unreadable(f"does not parse: {error.msg}", max(error.lineno or 1, 1), column)
    except ValueError as error:
        return Unreadable(f"does not parse: {error}")
    except (RecursionError, MemoryError):
        return Unreadable("does not parse: nested too deeply")
