"""Copies a shard to standard output; used in `pipe:` urls.

Shards that were moved to tape leave a stub beside their name.  Opening the stub makes
the storage system recall the shard; the stub is removed once the shard is back on disk.
"""
import shutil
import sys
import time
from pathlib import Path


def main(path):
    stub = path.with_suffix(".stub")
    while stub.exists():
        stub.read_bytes()
        time.sleep(0.5)
    with open(path, "rb") as stream:
        shutil.copyfileobj(stream, sys.stdout.buffer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
