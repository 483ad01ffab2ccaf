"""Pure but for time and memory. Pickles that hold data only: what a Flight Recorder writes, and nothing else.

A pickle is a program. The ones that torch's C++ writes use builtin containers and scalars alone, so every opcode that
needs a class, a function or a persistent id is refused before anything is looked up. What is left can still be built
to need much memory or time (a 254-byte pickle of nested, shared lists has 2^40 leaves; one memo index can ask for
gigabytes): who reads a stranger's file does so in a process with limits (`archive.pool`), and counts what it walks.
"""

from __future__ import annotations

import io
import pickle
from typing import NoReturn


class RefusedError(ValueError):
    """The pickle is no plain data; the message is one line for people."""


class _PlainData(pickle.Unpickler):
    """The C unpickler without its ways to code."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        named = f"{module_name}.{global_name}".encode("unicode_escape").decode()[:80]
        raise RefusedError(f"it names {named}: a pickle that names code is refused")

    def persistent_load(self, _pid: object, /) -> NoReturn:
        raise RefusedError("it refers to objects outside of itself")


def load(data: bytes) -> object:
    """The object in a pickle of builtin containers and scalars. Raises RefusedError for anything else.

    MemoryError goes through: what the unpickler held at that moment may be lost to the process.
    """
    # A reader that can peek spares the unpickler a call for every opcode.
    reader = io.BufferedReader(io.BytesIO(data))
    try:
        loaded: object = _PlainData(reader).load()
    except (RefusedError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged pickle can raise nearly anything from within
        reason = str(error).partition("\n")[0].encode("unicode_escape").decode()[:120]
        raise RefusedError(f"the pickle is damaged or cut off ({type(error).__name__}: {reason})") from None
    return loaded
