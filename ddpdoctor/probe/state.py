"""The probe's state in this process. `page` is None wherever nothing is recorded."""

from __future__ import annotations

import os
import struct

from .writer import PageWriter

#: this process's page; None before it is created, and in a forked child until it creates its own
page: PageWriter | None = None
#: the run directory, "" while the probe is not installed
run = ""
#: relative script names are relative to the working directory at the start of the process
started_in = os.sep

#: what a fault of our own can be. Narrow on purpose: an exception that a signal handler of the job raises while one
#: of our lines runs (TimeoutError, SystemExit, elastic's SignalException) must go on.
FAULTS = (AttributeError, BufferError, IndexError, KeyError, OverflowError, TypeError, ValueError, struct.error)
