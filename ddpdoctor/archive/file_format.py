"""Pure. Detects a file's format from its first bytes, never from its name."""

from __future__ import annotations

import re

from ddpdoctor.archive.fragment import Format
from ddpdoctor.probe.page import MAGIC

#: bytes that are enough to detect the format
HEAD = 8192
GZIP = b"\x1f\x8b"

#: keys that identify a JSON file of each format
_RECORDER_KEYS = (b'"entries"', b'"pg_config"', b'"pg_status"', b'"comm_lib_version"', b'"nccl_version"')
_STACK_KEYS = (b'"frames"', b'"thread_name"', b'"os_thread_id"')
_PROCESS_KEYS = (b'"cpu_seconds"', b'"io_bytes"')
_TEXT = re.compile(rb"[\x09\x0a\x0c\x0d\x1b\x20-\x7e\x80-\xff]")


def detect(head: bytes) -> Format | None:
    """The format of a file with this beginning; None if it is not supported."""
    if head.startswith(MAGIC):
        return Format.PAGE
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return Format.RECORDER_PICKLE
    start = head.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]
    if start in (b"{", b"[") and (known := _json(head, start)):
        return known
    return Format.TEXT if _is_text(head) else None


def _json(head: bytes, start: bytes) -> Format | None:
    """Supported JSON formats; a log may start with a bracket as well."""
    if start == b"[" and sum(key in head for key in _STACK_KEYS) >= 2:
        return Format.PYSPY_JSON
    if start == b"{":
        if any(key in head for key in _RECORDER_KEYS):
            return Format.RECORDER_JSON
        if all(key in head for key in _PROCESS_KEYS):
            return Format.PROCESS
        if b'"message"' in head[:64] and b'"extraInfo"' in head:
            return Format.ERROR_FILE
    return None


def _is_text(head: bytes) -> bool:
    """Whether there are no zero bytes and hardly any other control characters."""
    if not head or b"\0" in head:
        return False
    return len(_TEXT.findall(head)) >= 0.97 * len(head)
