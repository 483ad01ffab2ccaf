"""Click-through rate with a deep & cross network, on Ray Train."""
import os
import sys
import tempfile
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import ray
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_data_loader, prepare_model
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Cross(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Linear(d, d)

    def forward(self, x0, x):
        return x0 * self.w(x) + x


class DCN(nn.Module):
    def __init__(self, buckets=500, fields=6, d=4):
        super().__init__()
        self.emb = nn.Embedding(buckets, d)
        self.cross = nn.ModuleList(Cross(fields * d) for _ in range(2))
        self.out = nn.Linear(fields * d, 1)

    def forward(self, ids):
        x0 = x = self.emb(ids).flatten(1)
        for layer in self.cross:
            x = layer(x0, x)
        return self.out(x).squeeze(1)


def impressions(n=1600):
    g = torch.Generator().manual_seed(8)
    ids = torch.randint(0, 500, (n, 6), generator=g)
    return TensorDataset(ids, (ids.sum(1) % 5 == 0).float())


def train_loop(config):
    sys.path.insert(0, config["code"])
    from progress import Progress

    model = prepare_model(DCN())
    opt = torch.optim.Adam(model.parameters(), lr=config["lr"])
    loader = prepare_data_loader(DataLoader(impressions(), batch_size=config["batch"], shuffle=True))
    progress = Progress(every=config["report_every"])
    step = 0
    for epoch in range(config["epochs"]):
        loader.sampler.set_epoch(epoch)
        for ids, click in loader:
            step += 1
            logit = model(ids)
            loss = nn.functional.binary_cross_entropy_with_logits(logit, click)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.02)
            progress.add(step, loss=loss, ctr=logit.detach().sigmoid().mean())


def main():
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=True)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"lr": 1e-3, "batch": 16, "epochs": 3, "report_every": 40, "code": HERE},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(storage_path=tempfile.mkdtemp(prefix="ray_ctr_")),
    )
    print(trainer.fit().metrics)


if __name__ == "__main__":
    main()
