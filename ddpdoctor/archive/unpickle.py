"""Pure but for time and memory. Unpickles plain data only, which is all that a Flight Recorder writes.

A pickle is a program. Those that torch's C++ code writes use builtin containers and scalars alone, so every opcode that
needs a class, a function or a persistent id is refused before anything is looked up. What remains can still be crafted
to need much memory or time (a 254-byte pickle of nested, shared lists has 2^40 leaves; one memo index can request
gigabytes): untrusted files are read in a process with limits (`archive.parallel_dumps`), which counts what it walks.
"""

from __future__ import annotations

import io
import pickle
from typing import NoReturn


class RefusedError(ValueError):
    """The pickle is not plain data; the message is one line."""


class _PlainData(pickle.Unpickler):
    """The C unpickler with its access to code disabled."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        named = f"{module_name}.{global_name}".encode("unicode_escape").decode()[:80]
        raise RefusedError(f"it names {named}: a pickle that names code is refused")

    def persistent_load(self, _pid: object, /) -> NoReturn:
        raise RefusedError("it refers to external objects")


def load(data: bytes) -> object:
    """The object in a pickle of builtin containers and scalars. Raises RefusedError for anything else.

    MemoryError is not caught: the memory that the unpickler held may stay lost to the process.
    """
    # with a buffered reader that can peek, the unpickler needs no call per opcode
    reader = io.BufferedReader(io.BytesIO(data))
    try:
        loaded: object = _PlainData(reader).load()
    except (RefusedError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged pickle can raise nearly anything from within
        reason = str(error).partition("\n")[0].encode("unicode_escape").decode()[:120]
        raise RefusedError(f"the pickle is damaged or truncated ({type(error).__name__}: {reason})") from None
    return loaded
