"""Learns the flow through valves from pressure traces, with an update per run of the bench."""

import copy
import os
import time

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from bench import POINTS, Bench, SensorFault, read_run

RUNS = 110


class FlowModel(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Sequential(nn.Linear(POINTS, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 1))
        self.faults = 0
        self.left_out = 0

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)

    def prepare_run(self, item, run):
        try:
            pressure, flow = read_run(item, run)
        except SensorFault as fault:
            print(f"[{self.global_rank}] {fault}", flush=True)
            self.faults += 1
            return None
        time.sleep(0.03 + 0.004 * self.global_rank)
        return pressure - pressure.mean(dim=-1, keepdim=True), flow

    def training_step(self, item, batch_idx):
        opt = self.optimizers()
        losses = []
        for run in range(RUNS):
            ready = self.prepare_run(item, run)
            if not self.trainer.strategy.reduce_boolean_decision(ready is not None, all=True):
                self.left_out += 1
                continue
            pressure, flow = ready
            loss = F.mse_loss(self.net(pressure).squeeze(-1), flow)
            opt.zero_grad()
            self.manual_backward(loss)
            opt.step()
            losses.append(loss.detach())
        return {"error": torch.stack(losses).mean()}

    def on_train_batch_end(self, outputs, item, batch_idx):
        if self.global_rank == 0:
            self.sensitivity(item)
        errors = self.all_gather(outputs["error"]).tolist()
        self.print(f"round {batch_idx}: {[round(e, 4) for e in errors]}", flush=True)

    def sensitivity(self, item, repeats=5):
        """Fits a copy of the net a little further and shows how far its answers move."""
        net = copy.deepcopy(self.net)
        opt = torch.optim.SGD(net.parameters(), lr=1e-2)
        with torch.enable_grad():
            for run in range(repeats):
                pressure, flow = read_run(item, run)
                opt.zero_grad()
                F.mse_loss(net(pressure).squeeze(-1), flow).backward()
                opt.step()
                time.sleep(0.15)
        with torch.no_grad():
            moved = (net(item["pressure"][:repeats]) - self.net(item["pressure"][:repeats])).abs().mean()
        print(f"valve {item['valve']}: sensitivity {moved.item():.4f}", flush=True)

    def on_train_epoch_end(self):
        faults = self.all_gather(torch.tensor(self.faults)).tolist()
        self.print(f"faults by rank {faults}, runs left out {self.left_out}", flush=True)


def main():
    torch.set_num_threads(1)
    L.seed_everything(8)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        strategy="ddp",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(FlowModel(), DataLoader(Bench(9, RUNS), batch_size=1, collate_fn=lambda items: items[0]))


if __name__ == "__main__":
    main()
