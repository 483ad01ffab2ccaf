"""What is known of each roost after a round of training."""

import csv
import pathlib

import torch


class Roster:
    def __init__(self, accelerator, roosts, folder):
        self.accelerator = accelerator
        self.roosts = roosts
        self.path = pathlib.Path(folder) / "roster.csv"
        self.reset()
        self.publish = accelerator.on_main_process(self._publish)

    def reset(self):
        self.heard = torch.zeros(self.roosts, dtype=torch.float32)
        self.right = torch.zeros(self.roosts, dtype=torch.float32)

    def add(self, roost, correct):
        self.heard.index_add_(0, roost, torch.ones(len(roost)))
        self.right.index_add_(0, roost, correct.float())

    def table(self):
        rows = torch.stack([self.heard, self.right]).unsqueeze(0)
        return self.accelerator.gather(rows).sum(0)

    def _publish(self, epoch):
        heard, right = self.table()
        share = right / heard.clamp_min(1)
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file)
            for roost in range(self.roosts):
                writer.writerow([epoch, roost, int(heard[roost]), round(share[roost].item(), 4)])
        worst = int(share.argmin())
        print(f"epoch {epoch}: roost {worst} has {share[worst]:.3f}", flush=True)
