"""Audit of checkpoints: a child process compares the new weights with those of the checkpoint before."""

import logging
import subprocess
import sys
from pathlib import Path

from transformers import TrainerCallback

log = logging.getLogger("audit")
TOOL = Path(__file__).with_name("compare.py")


class AuditCheckpoints(TrainerCallback):
    """Writes a report next to every checkpoint, and keeps the last line of it for the log."""

    def __init__(self, tolerance=1e-5):
        self.tolerance = tolerance
        self.previous = None

    def command(self, folder):
        command = [sys.executable, str(TOOL), str(folder), "--tolerance", str(self.tolerance)]
        if self.previous is not None:
            command += ["--against", str(self.previous)]
        return command

    def audit(self, folder):
        check = subprocess.Popen(self.command(folder), stdout=subprocess.PIPE, text=True)
        code = check.wait()
        report = check.stdout.read()
        if code != 0:
            raise RuntimeError(f"audit of {folder} failed with {code}")
        (folder / "audit.txt").write_text(report)
        return report.splitlines()[-1]

    def on_save(self, args, state, control, **kwargs):
        if not state.is_world_process_zero:
            return
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        log.info("step %d: %s", state.global_step, self.audit(folder))
        self.previous = folder
