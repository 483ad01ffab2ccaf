"""Pure. From bytes to parsed source: encodings, notebooks, what cannot be read, and which files can matter at all."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings

from ddpdoctor.lint.record import record

#: bytes; a larger file is generated data, and parsing it would take minutes and gigabytes
LARGEST = 4_000_000

#: A file without any of these uses no distributed training, and no rule can say anything about it. `distributed`
#: alone stands in every Apache licence; `accelerate`, `lightning` and `ignite` in prose: they count where imported.
#: Plain words, because looking for twenty of them takes a tenth of the time of one pattern of twenty; by what several
#: of them have in common, which most files do not have.
_MATTERING: dict[bytes, tuple[bytes, ...]] = {
    b"istributed": (
        b"torch.distributed", b"import distributed", b"distributed import", b"DistributedSampler",
        b"DistributedDataParallel",
    ),
    b"hard": (b"FullyShardedDataParallel", b"fully_shard"),
    b"RANK": (b'RANK"', b"RANK'"),
    b"rank": (b"rank_zero", b"get_rank", b"local_rank", b"local-rank"),
    b"process": (b"process_group", b"main_process"),
    b"ccelerate": (b"from accelerate", b"import accelerate"),
    b"lightning": (b"pytorch_lightning", b"import lightning", b"from lightning"),
    b"ignite": (b"from ignite", b"import ignite"),
    **{word: (word,) for word in (
        b"all_reduce", b"all_gather", b"barrier(", b"horovod", b"deepspeed", b"mmengine", b"torch_xla",
    )},
}  # fmt: skip
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
    #: cells that do not parse, by lines of the joined code, which has nothing in their place
    faults: tuple[Unreadable, ...] = ()
    #: what stands in the cells, as many lines as the joined code
    shown: tuple[str, ...] = ()


def matters(raw: bytes) -> bool:
    """Whether the bytes mention distributed training at all."""
    return any(stem in raw and any(word in raw for word in words) for stem, words in _MATTERING.items())


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
        from ddpdoctor.lint import notebook as notebooks

        return notebooks.decode(raw)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        return Unreadable(f"cannot decode: {error}", raw.count(b"\n", 0, error.start) + 1)
    except (SyntaxError, LookupError, UnicodeError) as error:
        # not every codec says which byte it fails at
        return Unreadable(f"cannot decode: {error}")
    if text.startswith("\ufeff"):
        text = text[1:]
    return Source(text.replace("\r\n", "\n").replace("\r", "\n"), encoding)


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
