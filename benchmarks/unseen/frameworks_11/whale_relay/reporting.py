import json
import time
from pathlib import Path
from urllib.request import Request, urlopen

from transformers import TrainerCallback


class RelayCallback(TrainerCallback):
    """Sends what is known about the run to the relay, which passes it on over the satellite link."""

    def __init__(self, address_file: Path):
        self.address_file = address_file

    def on_train_begin(self, args, state, control, **kwargs):
        while not self.address_file.exists():
            time.sleep(0.1)
        self.url = self.address_file.read_text()
        self.send("run", {"seed": args.seed, "steps": state.max_steps})

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.send("result", {"step": state.global_step, **metrics})

    def send(self, kind: str, body: dict):
        request = Request(f"{self.url}/{kind}", data=json.dumps(body).encode(), method="POST")
        with urlopen(request) as answer:
            return json.loads(answer.read())
