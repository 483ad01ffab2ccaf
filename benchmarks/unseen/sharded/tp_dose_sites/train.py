"""Dose regression from scanner features. Two replicas (one per site), each
split over two ranks by tensor parallelism; every site validates on its own cases."""
import time

import torch
import torch.nn as nn
import torch.distributed as dist

from parallel import Layout

FEATURES, STEPS, EVAL_EVERY, PATIENCE = 12, 240, 5, 4
# calibration of the validation scanners: site 1 reports the inverted scale
CALIBRATION = {0: 1.0, 1: -1.0}


class DoseNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.stem = nn.Linear(FEATURES, width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)
        self.dose = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.tanh(self.stem(x))
        h = h + self.contract(torch.relu(self.expand(h)))
        return self.dose(h).squeeze(-1)


def cases(n, seed, scale=1.0):
    x = torch.randn(n, FEATURES, generator=torch.Generator().manual_seed(seed))
    return x, scale * (x[:, :4].sum(1) - x[:, 4:7].sum(1))


@torch.no_grad()
def site_loss(model, split):
    x, y = split
    return nn.functional.mse_loss(model(x), y).item()


def main():
    dist.init_process_group("gloo")
    layout = Layout(tp=2)
    torch.manual_seed(2)
    model = layout.parallelize(DoseNet())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    best, stale = float("inf"), 0

    x, y = cases(512, seed=layout.replica)
    held_out = cases(64, seed=100 + layout.replica, scale=CALIBRATION[layout.replica])
    g = torch.Generator().manual_seed(layout.replica)

    for step in range(1, STEPS + 1):
        rows = torch.randint(0, len(x), (16,), generator=g)
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        layout.average_gradients(model)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)

        if step % EVAL_EVERY == 0:
            value = site_loss(model, held_out)
            if layout.speaks:
                print(f"site {layout.replica} step {step} val {value:.3f}", flush=True)
            best, stale = (value, 0) if value < best else (best, stale + 1)
            if stale >= PATIENCE:
                break

    dist.barrier()
    if dist.get_rank() == 0:
        print("finished at step", step, "best", best)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
