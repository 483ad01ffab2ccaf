"""A tracker that sends the metrics to the lab's dashboard in the background."""
import json
import os
import queue
import tempfile
import threading

from accelerate.state import PartialState
from accelerate.tracking import GeneralTracker


class LiveTracker(GeneralTracker):
    name = "live"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, run_name):
        super().__init__()
        self.run_name = run_name
        self._outbox = queue.Queue()
        self._path = os.path.join(tempfile.gettempdir(), f"live_{run_name}_{os.getpid()}.jsonl")
        self._sender = None
        if PartialState(cpu=True).is_main_process:
            self._sender = threading.Thread(target=self._send, name="live-sender")
            self._sender.start()

    @property
    def tracker(self):
        return self._outbox

    def store_init_configuration(self, values):
        self._outbox.put({"config": values})

    def log(self, values, step=None, **kwargs):
        self._outbox.put({"step": step, **values})

    def close(self):
        self._outbox.put(None)
        if self._sender is not None:
            self._sender.join()

    def _send(self):
        with open(self._path, "a") as sink:
            while True:
                record = self._outbox.get()
                if record is None:
                    return
                sink.write(json.dumps(record) + "\n")
                sink.flush()
