"""An Accelerate tracker that writes the curves of a run to the lab book."""

import socket
import subprocess
import sys
from pathlib import Path

from accelerate.tracking import GeneralTracker, on_main_process


class LabBookTracker(GeneralTracker):
    name = "labbook"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, host="127.0.0.1"):
        super().__init__()
        self.host = host
        self.service = None
        self.wire = None

    @property
    def tracker(self):
        return self.wire

    @on_main_process
    def start(self):
        command = [sys.executable, str(Path(__file__).with_name("labbook.py")), "--host", self.host]
        self.service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = int(self.service.stdout.readline())
        self.wire = socket.create_connection((self.host, port)).makefile("rw")

    @on_main_process
    def store_init_configuration(self, values):
        self.put({f"config.{name}": float(value) for name, value in values.items()}, 0)

    @on_main_process
    def log(self, values, step=None, **kwargs):
        self.put(values, step)

    def put(self, values, step):
        lines = [f"{step} {name} {value:.6f}\n" for name, value in values.items() if value is not None]
        self.wire.write(f"PUT {len(values)}\n")
        self.wire.writelines(lines)
        self.wire.flush()
        answer = self.wire.readline().strip()
        if answer != "OK":
            raise ConnectionError(f"lab book answered {answer!r}")

    @on_main_process
    def finish(self):
        self.wire.close()
        summary, _ = self.service.communicate()
        print(summary, end="")
