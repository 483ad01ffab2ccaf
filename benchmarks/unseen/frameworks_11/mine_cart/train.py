"""Load of mine carts from their vibration, with Ray Train; one worker prepares the segments that all of them read."""
import tempfile
import time
from pathlib import Path

import ray
import torch
import torch.distributed as dist
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_data_loader, prepare_model
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEGMENTS = 60


def prepare_segments(path: Path):
    """Cuts the recordings into windows; a recording takes a moment."""
    windows, tonnes = [], []
    for number in range(SEGMENTS):
        g = torch.Generator().manual_seed(number)
        load = torch.rand(16, generator=g) * 20
        windows.append(torch.randn(16, 64, generator=g) * (1 + load[:, None] / 20))
        tonnes.append(load)
        time.sleep(0.15)
    draft = path.with_suffix(".draft")
    torch.save((torch.cat(windows), torch.cat(tonnes)), draft)
    draft.rename(path)


def work(config):
    torch.set_num_threads(1)
    path = Path(config["cache"]) / "segments.pt"
    if train.get_context().get_world_rank() == 0 and not path.exists():
        prepare_segments(path)
    dist.barrier()
    windows, tonnes = torch.load(path)
    loader = prepare_data_loader(DataLoader(TensorDataset(windows, tonnes), batch_size=8, shuffle=True))
    model = prepare_model(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(config["epochs"]):
        total = 0.0
        for window, load in loader:
            loss = nn.functional.l1_loss(model(window.square()).squeeze(-1), load)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()
        train.report({"epoch": epoch, "loss": total / len(loader)})


def main():
    ray.init(num_cpus=3, include_dashboard=False)
    cache = tempfile.mkdtemp(prefix="carts-")
    trainer = TorchTrainer(
        work,
        train_loop_config={"cache": cache, "epochs": 3},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="carts", storage_path=cache),
    )
    print(trainer.fit().metrics)
    ray.shutdown()


if __name__ == "__main__":
    main()
