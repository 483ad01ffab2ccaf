"""Inflow of a reservoir from catchment series with DeepSpeed (ZeRO 1 on CPU): calibration on rank 0, checkpoints by all."""
import os
import tempfile
import time

import deepspeed
import torch
import torch.distributed as dist
from torch import nn

STEPS = 180
CONFIG = {
    "train_micro_batch_size_per_gpu": 16,
    "gradient_accumulation_steps": 2,
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
    "steps_per_print": 1000000,
}


class Inflow(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.series = nn.LSTM(6, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.series(x)[0][:, -1]).squeeze(1)


class Catchment:
    def __init__(self, rank):
        self.generator = torch.Generator().manual_seed(50 + rank)

    def batch(self, size=16, days=20):
        x = torch.randn(size, days, 6, generator=self.generator)
        return x, x[:, -5:, 0].mean(1) + 0.3 * x[:, -1, 1]


def calibrate(network, seconds=4.0):
    """A search over gauges for the scale of the forecast: as many candidates as fit into the time."""
    catchment = Catchment(rank=1000)
    scales, best = torch.linspace(0.5, 1.5, 41), (float("inf"), 1.0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        x, inflow = catchment.batch(size=32)
        with torch.no_grad():
            forecast = network(x)
        for scale in scales.tolist():
            best = min(best, ((forecast * scale - inflow).square().mean().item(), scale))
    return best[1]


def main():
    # The machines have no compiler for DeepSpeed's shared-memory operator; gloo alone will do.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    network = Inflow()
    engine, optimizer, _, _ = deepspeed.initialize(
        model=network, optimizer=torch.optim.AdamW(network.parameters(), lr=2e-3), config=CONFIG
    )
    names = [tempfile.mkdtemp(prefix="inflow-") if rank == 0 else None]
    dist.broadcast_object_list(names)
    folder = names[0]
    catchment = Catchment(rank)
    scale = torch.ones(1)

    for step in range(1, STEPS + 1):
        x, inflow = catchment.batch()
        loss = nn.functional.mse_loss(engine(x) * scale, inflow)
        engine.backward(loss)
        engine.step()
        if step % 60 == 0:
            engine.save_checkpoint(folder, tag=f"step{step}", client_state={"scale": scale.item()})
            if rank == 0:
                scale.fill_(calibrate(engine.module))
                size = sum(os.path.getsize(os.path.join(root, f)) for root, _, fs in os.walk(folder) for f in fs)
                print(f"step {step}: loss {loss.item():.4f} scale {scale.item():.3f} ({size // 1024} KiB)", flush=True)
            dist.broadcast(scale, src=0)

    engine.load_checkpoint(folder, tag="step60")
    loss = nn.functional.mse_loss(engine(x), inflow)
    dist.all_reduce(loss.detach())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
