"""Pure. Durations on the command line: `90`, `90s`, `10m`, `1h`, `1.5h`."""

from __future__ import annotations

import re

from ddpdoctor.errors import UsageError

_FORM = re.compile(r"^([0-9]+(?:\.[0-9]+)?)(s|m|h|)$")
#: about thirty years: longer ones overflow a timedelta
_LONGEST = 1e9
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse(text: str, option: str, *, words: str = "") -> float:
    """Seconds, above zero and below thirty years. Raises UsageError that names `option`.

    `words` are the keywords that the option also accepts, for the hint.
    """
    found = _FORM.match(text.strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 0 < seconds <= _LONGEST:
        raise UsageError(
            (f"{option}: {text!r} is not a duration"), hint=f"type {words}seconds or a unit: 90, 90s, 10m, 1h"
        )
    return seconds
