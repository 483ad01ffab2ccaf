"""Catalogue of the labelled tiles of one region, kept up to date while training runs."""
import json
import threading
import time


class Catalogue:
    def __init__(self, path):
        self.path = path
        self._lock = threading.Lock()
        content = json.loads(path.read_text())
        self.version, self._labels = content["version"], content["labels"]

    def outdated(self):
        return json.loads(self.path.read_text())["version"] != self.version

    def label(self, tile):
        with self._lock:
            return self._labels[tile]

    def refresh(self):
        """Reads the new version in the background; look-ups wait until it is complete."""
        begun = threading.Event()

        def read():
            self._lock.acquire()
            begun.set()
            try:
                content = json.loads(self.path.read_text())
                for tile, label in enumerate(content["labels"]):
                    time.sleep(0.05)  # the corrections are looked up one by one
                    self._labels[tile] = label
                self.version = content["version"]
            finally:
                self._lock.release()

        threading.Thread(target=read, name="catalogue", daemon=True).start()
        begun.wait()
