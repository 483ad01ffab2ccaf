"""What a later stage takes over from an earlier one."""

import json
from pathlib import Path


class Progress:
    def __init__(self, folder):
        self.path = Path(folder) / "progress.json"
        self.micro_steps = 0
        self.updates = 0

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"micro_steps": self.micro_steps, "updates": self.updates}))

    def load(self):
        if not self.path.exists():
            return False
        told = json.loads(self.path.read_text())
        self.micro_steps, self.updates = told["micro_steps"], told["updates"]
        return True
