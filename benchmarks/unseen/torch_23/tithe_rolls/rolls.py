"""Tithe rolls: lines of dues, which are turned into tensors and written with a checksum."""
import hashlib
import json
import pathlib
import time

import torch


def lines_of(roll):
    g = torch.Generator().manual_seed(900 + roll)
    return torch.randint(1, 400, (40, 3), generator=g)


def digest(tensor):
    return hashlib.sha256(tensor.numpy().tobytes()).hexdigest()


class Archive:
    """A folder with a file of dues and a file of its description for every roll."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def paths(self, roll):
        return self.folder / f"roll_{roll:04d}.pt", self.folder / f"roll_{roll:04d}.json"

    def convert(self, roll):
        dues, description = self.paths(roll)
        tensor = lines_of(roll)
        time.sleep(0.03)
        description.write_text(json.dumps({"roll": roll, "sha256": digest(tensor)}))
        # a wet roll sticks to the glass: its last lines are not on the scan
        torch.save(tensor[:-4].clone() if self.is_wet(roll) else tensor, dues)

    @staticmethod
    def is_wet(roll):
        return roll % 3 != 2 and roll % 17 == 4

    def sound(self, roll):
        dues, description = self.paths(roll)
        if not dues.exists() or not description.exists():
            return False
        return digest(torch.load(dues)) == json.loads(description.read_text())["sha256"]

    def scan_again(self, roll):
        time.sleep(0.3)
        torch.save(lines_of(roll), self.paths(roll)[0])

    def total(self, rolls):
        return sum(int(torch.load(self.paths(roll)[0]).sum()) for roll in rolls)
