"""Which Python source a command line starts, so that it can be linted before the launch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_PYTHON = re.compile(r"^(pypy|python)\d*(\.\d+)*$")
#: programs whose first Python file, or whose module after -m, is the script
_LAUNCHERS = frozenset({"torchrun", "accelerate", "deepspeed", "horovodrun", "composer", "ray", "fabric", "lightning"})
#: modules that are launchers themselves
_LAUNCHING = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"})


def find_script(command: tuple[str, ...], directory: Path, environ: Mapping[str, str]) -> Path | None:
    """The file that `python`, `torchrun`, `accelerate launch` or a similar launcher runs; None if it is not known.

    Prefixes of the launcher (`env`, `nice`, `srun`, ...) are skipped. `python -c` has no file.
    """
    at = next((i for i, word in enumerate(command) if _starts(word)), None)
    if at is None:
        return None
    words = command[at + 1 :]
    if _PYTHON.match(Path(command[at]).name):
        program = _of_python(words)
        if program is None:
            return None
        kind, name, words = program
        if kind == "file":
            return _file(name, directory)
        if name not in _LAUNCHING:
            return _module(name, directory, environ)
    return _of_launcher(words, directory, environ)


def _starts(word: str) -> bool:
    name = Path(word).name
    return name in _LAUNCHERS or _PYTHON.match(name) is not None


def _of_python(words: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]] | None:
    """("file" or "module", its name, the words after it)."""
    rest = iter(range(len(words)))
    for i in rest:
        word = words[i]
        if word in ("-X", "-W", "--check-hash-based-pycs"):
            next(rest, None)
        elif word == "-m":
            return ("module", words[i + 1], words[i + 2 :]) if i + 1 < len(words) else None
        elif word.startswith("-c") or word == "-":
            return None
        elif word.startswith("-") and word.endswith("m") and not word.startswith(("--", "-X", "-W")):
            return ("module", words[i + 1], words[i + 2 :]) if i + 1 < len(words) else None
        elif not word.startswith("-"):
            return "file", word, words[i + 1 :]
    return None


def _of_launcher(words: tuple[str, ...], directory: Path, environ: Mapping[str, str]) -> Path | None:
    """Launchers have options with values, so the first existing Python file counts, or else the first module."""
    modules = any(word in ("-m", "--module") for word in words)
    for word in words:
        if word.startswith("-"):
            continue
        found = _module(word, directory, environ) if modules else None
        if found is None and word.endswith(".py"):
            found = _file(word, directory)
        if found is not None:
            return found
    return None


def _file(name: str, directory: Path) -> Path | None:
    """A folder or zip file with a `__main__.py` is started like a file; only the folder can be read."""
    path = directory / name
    for candidate in (path, path / "__main__.py"):
        if candidate.is_file():
            return candidate
    return None


def _module(name: str, directory: Path, environ: Mapping[str, str]) -> Path | None:
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    for root in _roots(directory, environ):
        base = root.joinpath(*name.split("."))
        for candidate in (base / "__main__.py", base.with_name(f"{base.name}.py")):
            if candidate.is_file():
                return candidate
    return None


def _roots(directory: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the job's own modules are: the working directory, PYTHONPATH, and `src` beside them."""
    yield directory
    for entry in environ.get("PYTHONPATH", "").split(":"):
        if entry:
            yield directory / entry
    yield directory / "src"
