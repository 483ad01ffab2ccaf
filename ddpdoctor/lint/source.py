"""Pure. From bytes to parsed source: encodings, notebooks, what cannot be read, and which files can matter at all."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings

from ddpdoctor.lint.record import record

#: bytes; a larger file is generated data, and parsing it would take minutes and gigabytes
LARGEST = 4_000_000

#: A file without any of these uses no distributed training, and no rule can say anything about it. `distributed`
#: alone stands in every Apache licence; `accelerate`, `lightning` and `ignite` in prose: they count where imported.
#: Plain words, because looking for twenty of them takes a tenth of the time of one pattern of twenty.
_MATTERING = (
    b"torch.distributed", b"import distributed", b"distributed import", b"DistributedSampler",
    b"DistributedDataParallel", b"FullyShardedDataParallel", b"fully_shard", b'RANK"', b"RANK'", b"rank_zero",
    b"get_rank", b"local_rank", b"local-rank", b"process_group", b"main_process", b"all_reduce", b"all_gather",
    b"barrier(", b"from accelerate", b"import accelerate", b"horovod", b"deepspeed", b"pytorch_lightning",
    b"import lightning", b"from lightning", b"from ignite", b"import ignite", b"mmengine", b"torch_xla",
)  # fmt: skip
#: what a script has that may start all that matters in other files
STARTS = b"__main__"
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w ,\t]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


@record(frozen=True, slots=True)
class Unreadable:
    """Why a file could not be read as Python; line and column from 1."""

    message: str
    line: int = 1
    column: int = 1


@record(frozen=True, slots=True)
class Source:
    """Decoded source. `cells` maps a line of a notebook's joined code to (cell from 1, line in it)."""

    text: str
    encoding: str = "utf-8"
    cells: tuple[tuple[int, int], ...] = ()


def matters(raw: bytes) -> bool:
    """Whether the bytes mention distributed training at all."""
    return any(word in raw for word in _MATTERING)


def imported(raw: bytes) -> tuple[str, ...]:
    """Paths, from a folder that is not known, of the modules that a file may import; without their ending."""
    names: dict[str, None] = {}
    for package, members, plain in _IMPORT.findall(raw):
        for name in plain.split(b","):
            names[name.strip().partition(b" ")[0].decode().replace(".", "/")] = None
        base = package.decode().strip(".").replace(".", "/")
        names[base] = None
        for member in members.split(b","):
            name = member.strip().partition(b" ")[0].decode()
            names[f"{base}/{name}" if base else name] = None
    names.pop("", None)
    return tuple(names)


def decode(raw: bytes, *, notebook: bool = False) -> Source | Unreadable:
    """Decode a file as Python would: BOM, coding comment, else UTF-8."""
    if notebook:
        return _notebook(raw)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        return Unreadable(f"cannot decode: {error}", raw.count(b"\n", 0, error.start) + 1)
    except (SyntaxError, LookupError) as error:
        return Unreadable(f"cannot decode: {error}")
    if text.startswith("\ufeff"):
        text = text[1:]
    return Source(text.replace("\r\n", "\n").replace("\r", "\n"), encoding)


def encode(text: str, source: Source, raw: bytes) -> bytes:
    """Bytes to write back, with the original's encoding, BOM and line ends."""
    if b"\r\n" in raw:
        text = text.replace("\n", "\r\n")
    encoded = text.encode("utf-8" if source.encoding == "utf-8-sig" else source.encoding)
    return codecs.BOM_UTF8 + encoded if raw.startswith(codecs.BOM_UTF8) else encoded


def parse(text: str) -> ast.Module | Unreadable:
    """Parse; whatever the parser cannot take is an Unreadable with its line."""
    if "\x00" in text:
        return Unreadable("does not parse: there is a NUL byte", text.count("\n", 0, text.index("\x00")) + 1)
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


def _notebook(raw: bytes) -> Source | Unreadable:
    import json

    try:
        document = json.loads(raw.decode("utf-8-sig"))
        cells = document["cells"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return Unreadable(f"is not a notebook: {type(error).__name__}")
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    number = 0
    for cell in cells if isinstance(cells, list) else []:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        number += 1
        content = cell.get("source", "")
        text = "".join(map(str, content)) if isinstance(content, list) else str(content)
        for index, line in enumerate(_python_lines(text), start=1):
            lines.append(line)
            places.append((number, index))
    return Source("\n".join(lines) + "\n", "utf-8", tuple(places))


def _python_lines(cell: str) -> list[str]:
    """A cell's lines with magics and shell escapes blanked, keeping their indentation."""
    lines = cell.replace("\r\n", "\n").split("\n")
    if lines and lines[0].startswith("%%") and not lines[0].startswith(("%%time", "%%capture")):
        return ["" for _ in lines]
    return [_blank_magic(line) for line in lines]


def _blank_magic(line: str) -> str:
    stripped = line.lstrip()
    if stripped.startswith(("%", "!")) or (stripped.endswith("?") and not stripped.startswith("#")):
        return line[: len(line) - len(stripped)] + "pass"
    return line
