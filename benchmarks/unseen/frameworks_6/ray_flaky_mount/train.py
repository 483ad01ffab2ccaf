import os
import tempfile
import time

import ray
import torch
from ray import train
from ray.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn


class Mount:
    """A network mount that is lost once and comes back after the workers have been restarted."""

    def __init__(self, folder, rank):
        self.note = os.path.join(folder, "remounted")
        self.rank = rank

    def read(self, step, g):
        if self.rank == 1 and step == 24 and not os.path.exists(self.note):
            open(self.note, "w").close()
            raise OSError(107, "Transport endpoint is not connected")
        return torch.randn(8, 7, generator=g)


def restore(model, optim):
    checkpoint = train.get_checkpoint()
    if checkpoint is None:
        return 0
    with checkpoint.as_directory() as d:
        state = torch.load(os.path.join(d, "state.pt"))
    model.load_state_dict(state["model"])
    optim.load_state_dict(state["optim"])
    return state["step"] + 1


def loop(config):
    rank = train.get_context().get_world_rank()
    model = prepare_model(nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Linear(24, 1)))
    optim = torch.optim.SGD(model.parameters(), lr=0.01)
    start = restore(model, optim)
    mount = Mount(config["folder"], rank)
    g = torch.Generator().manual_seed(rank)
    for step in range(start, config["steps"]):
        x = mount.read(step, g)
        loss = (model(x) - x.mean(1, keepdim=True)).pow(2).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        time.sleep(0.4)
        if step % 10 == 9:
            with tempfile.TemporaryDirectory() as d:
                checkpoint = None
                if rank == 0:
                    torch.save({"model": model.state_dict(), "optim": optim.state_dict(), "step": step},
                               os.path.join(d, "state.pt"))
                    checkpoint = Checkpoint.from_directory(d)
                train.report({"loss": loss.item(), "step": step}, checkpoint=checkpoint)


if __name__ == "__main__":
    ray.init(num_cpus=4, include_dashboard=False)
    trainer = TorchTrainer(
        loop,
        train_loop_config={"folder": tempfile.mkdtemp(), "steps": 70},
        scaling_config=ScalingConfig(num_workers=2),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=tempfile.mkdtemp(), failure_config=FailureConfig(max_failures=2)),
    )
    result = trainer.fit()
    print(result.metrics)
