"""Sends reports to the shared folder without holding up the training."""
import json
import pathlib
import queue
import threading
import time


class Publisher:
    def __init__(self, folder, writers=1):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.reports = queue.Queue()
        self.threads = [threading.Thread(target=self.write, name=f"writer-{i}") for i in range(writers)]
        for thread in self.threads:
            thread.start()

    def submit(self, name, content):
        self.reports.put((name, content))

    def write(self):
        while True:
            report = self.reports.get()
            if report is None:
                break
            name, content = report
            (self.folder / f"{name}.json").write_text(json.dumps(content))
            time.sleep(0.05)

    def close(self):
        """No more reports; those that are left are still written."""
        self.reports.put(None)
