"""What all tests share."""

from __future__ import annotations

import os
import signal

# Where it is set, `print` writes a line and its end apart, and the lines of ranks that share a pipe run into each
# other. Tests that compare what jobs print need whole lines.
os.environ.pop("PYTHONUNBUFFERED", None)

# A test run in the background (`make test &` in a script) is started with these ignored, and so would be every job of
# the tests that signals one.
for _number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)
