"""What a script hands on to the programs that it starts: `torchrun train.py "$@"`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ddpdoctor.model.late_pattern import late_pattern

#: all arguments of a script, or those from one on
_ALL = late_pattern(rb"[\"']?\$(?:[@*]|\{[@*](?::\d+)?\})[\"']?")
#: where a line goes on in the next one
_GOES_ON = late_pattern(rb"\\\r?\n")
#: what ends the arguments of a command
_END = late_pattern(rb"[\r\n;|&`<>]|\s#")


def hands_on(command: bytes) -> bool:
    """Whether a command passes what its script was called with."""
    return b"$" in command and _ALL.search(command) is not None


def as_called(command: bytes, script: bytes, texts: Iterable[bytes]) -> list[bytes]:
    """A command that hands on what its script gets, for each way in which texts call that; itself if none does.

    Args:
        command: The command.
        script: The name of the file that it is in.
        texts: The scripts and texts of the repository.
    """
    called = re.compile(rb"(?<![\w.-])" + re.escape(script) + rb"[\"']?[ \t]+(?=\S)")
    given = [_arguments(text[found.end() :]) for text in texts if script in text for found in called.finditer(text)]
    # a sentence about the script calls it with nothing that looks like an argument
    plain = dict.fromkeys(one for one in given if one and not hands_on(one) and _looks_passed(one))
    return [_ALL.sub(one.replace(b"\\", rb"\\"), command) for one in plain] or [command]


#: options, numbers, paths, variables and settings
_PASSED = late_pattern(rb"(?:^|\s)(?:--?\w|\d+(?:\s|$)|[\w./${}-]*[/$=][\w./${}-]*|\S+\.(?:py|ya?ml|json|txt)\b)")


def _looks_passed(arguments: bytes) -> bool:
    return _PASSED.search(arguments) is not None


def _arguments(text: bytes) -> bytes:
    """What a command goes on with, to its end."""
    whole = _GOES_ON.sub(b" ", text[:_LONGEST])
    ended = _END.search(whole)
    return (whole[: ended.start()] if ended is not None else whole).strip()


#: bytes of a command that are read
_LONGEST = 4096
