"""Export of a round's network to the (slow, sometimes refusing) share."""
import json
import os
import shutil
import tempfile
import time

import torch


class Exporter:
    def __init__(self, fabric):
        self.fabric = fabric
        folder = tempfile.mkdtemp(prefix="otters_") if fabric.is_global_zero else None
        self.folder = fabric.broadcast(folder)
        self.refusals = 2               # the share is still asleep at the first tries

    def marker(self, number):
        return os.path.join(self.folder, f"round_{number}.json")

    def export(self, number, network, error):
        while self.refusals:
            self.refusals -= 1
            time.sleep(1.0)             # try again later
        for name, value in network.state_dict().items():
            torch.save(value, os.path.join(self.folder, f"{number}_{name}.pt"))
            time.sleep(0.1)
        with open(self.marker(number) + ".part", "w") as file:
            json.dump({"error": error}, file)
        os.replace(self.marker(number) + ".part", self.marker(number))

    def close(self):
        if self.fabric.is_global_zero:
            shutil.rmtree(self.folder)


def wait_for(path, pause=0.25, patience=120):
    for _ in range(int(patience / pause)):
        if os.path.exists(path):
            with open(path) as file:
                return json.load(file)["error"]
        time.sleep(pause)
    raise TimeoutError(path)
