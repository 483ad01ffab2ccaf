"""Pure. Makes text from processes and logs safe to keep and to show: removes terminal escapes and secrets.

Here, because what an exception says is first written down inside the job.
"""

from __future__ import annotations

import functools
import re

_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

#: bounded on both sides, so that a line of twenty thousand dashes does not take quadratic time
_KEY = r"[\w-]{0,48}(?:api[_-]?key|token|secret|passw(?:or)?d|credential|private[_-]?key|access[_-]?key)[\w-]{0,48}"
_SECRETS = (
    #: --api-key=..., TOKEN=..., "password: ..."
    (rf"(?i)\b({_KEY})([\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&]+)", r"\1\2[redacted]"),
    #: --api-key VALUE
    (rf"(?i)(--{_KEY})(\s+)(?!-)(\S+)", r"\1\2[redacted]"),
    #: https://user:password@host
    (r"(\b\w{1,32}://[^/\s:@]{1,255}:)[^@\s/]{1,1024}@", r"\1[redacted]@"),
    #: well-known token shapes: AWS access key, Hugging Face, GitHub, OpenAI, Slack, bearer
    (
        r"\b(AKIA[0-9A-Z]{16}|hf_\w{20,}|gh[pousr]_\w{20,}|sk-[\w-]{20,}|xox[abpr]-[\w-]{10,})\b",
        "[redacted]",
    ),
    (r"(?i)\b(bearer\s+)[\w.~+/-]{8,}=*", r"\1[redacted]"),
)


@functools.cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Compiled when something is said: a rank that fails with nothing pays nothing."""
    return tuple((re.compile(pattern), replacement) for pattern, replacement in _SECRETS)


def plain(text: str) -> str:
    """The text without terminal escapes and control characters; line ends and tabs are kept."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def redacted(text: str) -> str:
    """`plain`, with secrets replaced: values of keys that name a secret, passwords in URLs, known token formats."""
    text = plain(text)
    for pattern, replacement in _patterns():
        text = pattern.sub(replacement, text)
    return text


def redacted_command(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """A command line without secrets; an option's value may be the next argument."""
    shown: list[str] = []
    hide = False
    for argument in arguments:
        shown.append("[redacted]" if hide and not argument.startswith("-") else redacted(argument))
        hide = re.fullmatch(rf"(?i)--?{_KEY}", argument) is not None
    return tuple(shown)
