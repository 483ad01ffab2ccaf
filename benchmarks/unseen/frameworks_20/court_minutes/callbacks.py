"""A callback that examines paragraphs one by one and has the report written by a script of its own."""

import json
import pathlib
import subprocess
import sys

import torch
from torch import nn
from transformers import TrainerCallback


class ReportCallback(TrainerCallback):
    """After every evaluation the main process examines `paragraphs` and appends the report to a file."""

    def __init__(self, paragraphs, folder):
        self.words, self.labels = paragraphs
        self.folder = pathlib.Path(folder)
        self.history = []

    @torch.no_grad()
    def examine(self, model):
        was_training = model.training
        model.eval()
        logits = model(self.words)["logits"]
        model.train(was_training)
        return nn.functional.cross_entropy(logits, self.labels, reduction="none").tolist()

    def render(self):
        source = self.folder / "history.json"
        source.write_text(json.dumps(self.history))
        script = pathlib.Path(__file__).with_name("report.py")
        process = subprocess.Popen([sys.executable, str(script), str(source)], stdout=subprocess.PIPE, text=True)
        if process.wait() != 0:
            raise RuntimeError(f"report.py ended with {process.returncode}")
        return process.stdout.read()

    def on_evaluate(self, args, state, control, model=None, **kwargs):
        if not state.is_world_process_zero:
            return
        self.history.append({"step": state.global_step, "losses": self.examine(model)})
        report = self.render()
        (self.folder / f"report-{state.global_step}.txt").write_text(report)
        print(report.splitlines()[-1], flush=True)
