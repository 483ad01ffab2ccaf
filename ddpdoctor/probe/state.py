"""What the probe knows of the process it is in. `page` is None wherever nothing is recorded."""

from __future__ import annotations

import os
import struct

from .writer import PageWriter

#: this process's page; None before it is armed, and in a forked child until it arms its own
page: PageWriter | None = None
#: the run directory, "" while the probe is not installed
run = ""
#: relative script names are relative to where the process started, not to where it has gone since
started_in = os.sep

#: what a fault of our own can be. Narrow on purpose: an exception that a signal handler of the job raises while one
#: of our lines runs (TimeoutError, SystemExit, elastic's SignalException) must go on.
FAULTS = (AttributeError, BufferError, IndexError, KeyError, OverflowError, TypeError, ValueError, struct.error)
