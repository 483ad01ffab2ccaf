"""Forecast of bike returns with Ray Train, one district per worker."""
import os
import tempfile
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
import torch
import torch.distributed as dist
import torch.nn.functional as F
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn
from torch.utils.data import DataLoader

import board
from stations import district

WORKERS = 3


def loop(config):
    torch.set_num_threads(1)
    rank = train.get_context().get_world_rank()
    model = prepare_model(nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    loader = DataLoader(district(rank), batch_size=32, shuffle=True, drop_last=True)
    client = board.BoardClient(config["port"], run="returns-v3") if rank == 0 else None

    for epoch in range(config["epochs"]):
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.03)
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        mean /= WORKERS
        if client is not None:
            client.post(epoch=epoch, loss=mean.item())
    train.report({"loss": mean.item()})


if __name__ == "__main__":
    port = board.serve()
    here = os.path.dirname(os.path.abspath(__file__))
    scratch = tempfile.mkdtemp(prefix="bikes_", dir="/tmp")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=True, _temp_dir=scratch,
             runtime_env={"env_vars": {"PYTHONPATH": here, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}})
    trainer = TorchTrainer(
        loop, train_loop_config={"lr": 3e-3, "epochs": 40, "port": port},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=WORKERS, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(name="returns", storage_path=os.path.join(scratch, "results")))
    result = trainer.fit()
    print("final loss", result.metrics["loss"])
    print("points on the board", len(board.Board.points))
    ray.shutdown()
