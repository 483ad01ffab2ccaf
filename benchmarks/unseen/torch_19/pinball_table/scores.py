"""The score sheet of a process: events are collected and written in blocks, by a thread or when a block is full."""
import dataclasses
import json
import os
import threading


class ScoreSheet:
    def __init__(self, folder, name, block=64, every=0.4):
        self.path = os.path.join(folder, name + ".jsonl")
        self.block = block
        self.every = every
        self.pending = []
        self.written = 0
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self._write_now_and_then, name="scores", daemon=True)
        self.thread.start()

    def _write_now_and_then(self):
        while not self.closing.wait(self.every):
            self.flush()

    def add(self, game, events):
        with self.lock:
            for event in events:
                self.pending.append({"game": game, **dataclasses.asdict(event)})
            if len(self.pending) >= self.block:
                self.flush()

    def flush(self):
        with self.lock, open(self.path, "a") as out:
            for line in self.pending:
                out.write(json.dumps(line) + "\n")
            self.written += len(self.pending)
            self.pending.clear()

    def close(self):
        self.closing.set()
        self.thread.join()
        self.flush()
        return self.written
