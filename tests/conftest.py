"""What all tests share."""

from __future__ import annotations

import os

# Where it is set, `print` writes a line and its end apart, and the lines of ranks that share a pipe run into each
# other. Tests that compare what jobs print need whole lines.
os.environ.pop("PYTHONUNBUFFERED", None)
