"""A small experiment tracker that appends one JSON line per log call."""
import json
import os
import tempfile

from accelerate.tracking import GeneralTracker, on_main_process
from accelerate.utils import gather


class MetricStore(GeneralTracker):
    name = "metric_store"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, run_name):
        super().__init__()
        self.run_name = run_name
        self.stream = None

    @on_main_process
    def start(self):
        folder = tempfile.mkdtemp(prefix=self.run_name + "-")
        self.stream = open(os.path.join(folder, "metrics.jsonl"), "w")

    @property
    def tracker(self):
        return self.stream

    @on_main_process
    def store_init_configuration(self, values):
        self._write({"config": values})

    @on_main_process
    def log(self, values, step=None, **kwargs):
        record = {"step": step}
        for key, value in values.items():
            if hasattr(value, "detach"):
                # what arrives here is the value of one process
                value = gather(value.detach()).float().mean().item()
            record[key] = value
        self._write(record)

    @on_main_process
    def finish(self):
        self.stream.close()

    def _write(self, record):
        self.stream.write(json.dumps(record) + "\n")
        self.stream.flush()
