"""A tracker that hands its rows to a small child process, which draws the strip chart."""
import json
import subprocess
import sys
from pathlib import Path

from accelerate.tracking import GeneralTracker, on_main_process

PLOTTER = Path(__file__).with_name("plotter.py")


class StripChart(GeneralTracker):
    name = "strip_chart"
    requires_logging_directory = False

    def __init__(self, title, folder):
        super().__init__()
        self.title = title
        self.folder = folder
        self.child = None

    @property
    def tracker(self):
        return self.child

    @on_main_process
    def start(self):
        self.child = subprocess.Popen([sys.executable, str(PLOTTER), self.title], text=True, cwd=self.folder,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @on_main_process
    def store_init_configuration(self, values):
        self.send({"config": values})

    @on_main_process
    def log(self, values, step=None, **kwargs):
        self.send({"step": step, **values})

    def send(self, row):
        # the plotter is a process of its own, so drawing never holds up the training
        print(json.dumps(row), file=self.child.stdin, flush=True)

    @on_main_process
    def finish(self):
        drawn, _ = self.child.communicate()
        print(f"{self.title}: {len(drawn.splitlines())} rows drawn")
