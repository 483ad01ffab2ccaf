"""A journal of a run: records in memory, on the disk as lines, and made compact now and then by a thread."""

import json
import pathlib
import threading
import time

from transformers import TrainerCallback


class Journal:
    def __init__(self, folder, compact_after=40):
        self.path = pathlib.Path(folder) / "journal.jsonl"
        self.compact_after = compact_after
        self.index_lock = threading.Lock()
        self.file_lock = threading.Lock()
        self.index = []
        self.since = 0

    def add(self, record):
        with self.index_lock:
            self.index.append(record)
            self.since += 1
            self._write(record)
            full = self.since >= self.compact_after
            if full:
                self.since = 0
        if full:
            threading.Thread(target=self.compact, daemon=True).start()

    def _write(self, record):
        with self.file_lock, self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def compact(self):
        """One line for each step, and the newest value of each name in it."""
        with self.file_lock:
            steps = {}
            for line in self.path.read_text().splitlines():
                record = json.loads(line)
                steps.setdefault(record["step"], {}).update(record)
                time.sleep(0.03)
            self._replace(list(steps.values()))

    def _replace(self, records):
        with self.index_lock:
            self.index = records
            self.path.write_text("".join(json.dumps(r) + "\n" for r in records))


class JournalCallback(TrainerCallback):
    def __init__(self, folder):
        self.journal = Journal(folder)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if not state.is_world_process_zero:
            return
        for name, value in (logs or {}).items():
            self.journal.add({"step": state.global_step, name: value})
        print(f"step {state.global_step}: {len(self.journal.index)} records", flush=True)
