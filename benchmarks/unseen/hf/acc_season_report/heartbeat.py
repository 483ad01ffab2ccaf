import json
import threading
import time


class Heartbeat(threading.Thread):
    """Writes the state of the job to a file twice a second, for the cluster's dashboard."""

    def __init__(self, path, status):
        super().__init__(daemon=True)
        self.path, self.status = path, status
        self.finished = threading.Event()

    def run(self):
        while not self.finished.wait(0.5):
            self.path.write_text(json.dumps({"time": time.time(), **self.status}))

    def stop(self):
        self.finished.set()
        self.join()
