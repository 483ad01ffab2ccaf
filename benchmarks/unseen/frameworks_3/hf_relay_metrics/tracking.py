import json
import os
import pathlib
import subprocess
import sys
import urllib.request

from transformers import TrainerCallback


class MetricsClient:
    def __init__(self, url, run):
        self.url, self.run = url, run

    @classmethod
    def with_local_relay(cls, run):
        script = pathlib.Path(__file__).with_name("relay.py")
        proc = subprocess.Popen([sys.executable, str(script), str(os.getpid())], stdout=subprocess.PIPE, text=True)
        port = int(proc.stdout.readline())
        return cls(f"http://127.0.0.1:{port}/v1/metrics", run)

    def post(self, step, values):
        body = json.dumps({"run": self.run, "step": step, "values": values}).encode()
        request = urllib.request.Request(self.url, data=body, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return answer.status


class RelayCallback(TrainerCallback):
    def __init__(self, run):
        self.run, self.client = run, None

    def on_train_begin(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            self.client = MetricsClient.with_local_relay(self.run)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if self.client is not None:
            self.client.post(state.global_step, {k: v for k, v in (logs or {}).items() if isinstance(v, float)})
