"""Names of moths, as they stand in the collection and as they were corrected afterwards."""

import json
import logging
import os
import pathlib
import threading
import time

log = logging.getLogger("moths")


class NameBook:
    """Labels by the number of the catch. Corrections are taken at once and written to the journal in the background."""

    def __init__(self, labels, folder, site):
        self.labels = dict(enumerate(labels))
        self.journal = pathlib.Path(folder) / f"site-{site}.jsonl"
        self.fresh = {}
        self.lock = threading.Lock()
        self.writer = None

    def get(self, number):
        with self.lock:  # a correction may come at any time
            return self.labels[number]

    def correct(self, number, label):
        with self.lock:
            if self.labels[number] != label:
                self.labels[number] = label
                self.fresh[number] = label

    def _write(self):
        """Every line is on the disk before the next one, so that a power cut in the field costs one at most."""
        with self.lock:  # the corrections of the next night come afterwards
            with open(self.journal, "a") as file:
                for number, label in self.fresh.items():
                    file.write(json.dumps({"catch": number, "label": label}) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                    time.sleep(0.01)  # the card of the field computer
            log.info("%s: %d corrections", self.journal.name, len(self.fresh))
            self.fresh = {}

    def save(self):
        """Writes the corrections so far; training goes on meanwhile."""
        self.close()
        if not self.fresh:
            return
        self.writer = threading.Thread(target=self._write, name="journal")
        self.writer.start()

    def close(self):
        if self.writer is not None:
            self.writer.join()
            self.writer = None
