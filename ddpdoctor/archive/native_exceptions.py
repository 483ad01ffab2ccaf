"""Pure. Uncaught exceptions of native code, as the C++ runtime prints them before it aborts.

terminate called after throwing an instance of 'gloo::EnforceNotMet'
  what():  [enforce fail at .../gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 408 vs 4. ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ddpdoctor.model.progress import Raised
from ddpdoctor.probe.redact import redacted

_THROWN = re.compile(r"terminate called after throwing an instance of '([^']{1,200})'")
_WHAT = re.compile(r"^\s*what\(\):\s+(.*)$")
#: lines that may lie between the two: processes that abort at once write between each other's lines
_NEAR = 6
_MOST = 2000


def find(lines: tuple[str, ...]) -> Iterator[Raised]:
    """Every such exception in order, without frames. `time` is the line number."""
    for number, line in enumerate(lines):
        thrown = _THROWN.search(line)
        if thrown is None:
            continue
        near = lines[number + 1 : number + 1 + _NEAR]
        what = next((found[1] for after in near if (found := _WHAT.match(after))), "")
        yield Raised(
            thrown[1], redacted(what)[:_MOST], float(number), (), redacted(f"{line}\n  what():  {what}")[:_MOST]
        )
