"""Keeps what a training run leaves behind: packed weights, and a journal that is sent on by a thread."""
import io
import logging
import queue
import threading
import time
import zlib

import torch

log = logging.getLogger("archive")


class Journal:
    """Lines are sent one by one; the last ones may still be on their way when the training has ended."""

    def __init__(self, seconds_per_line):
        self.seconds_per_line = seconds_per_line
        self.lines = queue.Queue()
        self.sent = []
        self.thread = threading.Thread(target=self._send, name="journal")
        self.thread.start()

    def write(self, text):
        self.lines.put(text)

    def close(self):
        self.lines.put(None)

    def _send(self):
        while (text := self.lines.get()) is not None:
            time.sleep(self.seconds_per_line)
            self.sent.append(text)
        log.info("journal: %d lines sent", len(self.sent))


def pack(state, pause):
    """Compresses each tensor for itself, gently, as the disk belongs to everybody."""
    size = 0
    for name, tensor in state.items():
        buffer = io.BytesIO()
        torch.save(tensor, buffer)
        size += len(zlib.compress(buffer.getvalue(), 9))
        time.sleep(pause)
    return size
