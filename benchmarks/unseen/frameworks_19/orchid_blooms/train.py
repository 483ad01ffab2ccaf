"""When do orchids bloom? Two greenhouses, a worker of Ray Train for each."""

import os
import tempfile
import time

os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")

import ray
import torch
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn
from torch.utils.data import DataLoader

from greenhouse import CLIMATE, Greenhouse, described
from journal import Display, Journal


class Bloom(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(CLIMATE, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, climate):
        return self.net(climate).squeeze(-1)


def late_blooms(index, error, late):
    """Late varieties are looked at by a gardener, whatever the model says of them."""
    return index[late], error[late]


def gardener(config):
    torch.set_num_threads(1)
    torch.manual_seed(5)
    house = train.get_context().get_world_rank()
    model = prepare_model(Bloom(config["hidden"]))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    orchids = Greenhouse(house, config["orchids"])
    print(f"house {house}: {described(orchids)}", flush=True)
    loader = DataLoader(orchids, config["batch"], shuffle=True)
    journal = Journal(house, config["page_rows"])
    display = Display(journal, every=2.0)
    display.start()
    for epoch in range(config["epochs"]):
        losses = []
        for index, climate, day, late in loader:
            error = (model(climate) - day).square()
            loss = error.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if late.any():
                journal.add(*late_blooms(index, error.detach(), late))
            time.sleep(config["pause"])
        train.report({"epoch": epoch, "loss": sum(losses) / len(losses), "pages": len(journal.pages)})
    display.closed.set()


def main():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True)
    config = {"orchids": 800, "batch": 8, "epochs": 3, "hidden": 32, "lr": 3e-3, "page_rows": 400, "pause": 0.03}
    with tempfile.TemporaryDirectory() as results:
        trainer = TorchTrainer(
            gardener,
            train_loop_config=config,
            torch_config=TorchConfig(backend="gloo"),
            scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
            run_config=RunConfig(name="orchids", storage_path=results),
        )
        print(trainer.fit().metrics)


if __name__ == "__main__":
    main()
