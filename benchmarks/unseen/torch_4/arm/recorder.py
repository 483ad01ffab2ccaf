"""Streams camera frames to an encoder process."""
import subprocess
import sys

ENCODER = r"""
import sys
size = int(sys.argv[1])
count = 0
while True:
    frame = sys.stdin.buffer.read(size)
    if len(frame) < size:
        break
    count += 1
    rows = " ".join("%3d" % b for b in frame[:1000])
    print("frame=%d q=%2.1f rows: %s" % (count, count % 7, rows), flush=True)
"""


class Recorder:
    def __init__(self, width, height):
        self.proc = subprocess.Popen(
            [sys.executable, "-c", ENCODER, str(width * height)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def write(self, frame):
        self.proc.stdin.write(frame)
        self.proc.stdin.flush()

    def close(self):
        out, _ = self.proc.communicate()
        return out.count(b"frame=")


class Off:
    def write(self, frame):
        pass

    def close(self):
        return 0
