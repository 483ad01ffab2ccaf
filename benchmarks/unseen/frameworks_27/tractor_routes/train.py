"""Travel times of tractors between fields, one depot per worker (Ray Train)."""
import os
import tempfile

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")

import ray
import ray.train
import ray.train.torch
from ray.train import RunConfig, ScalingConfig

from soil_service import SoilService

HERE = os.path.dirname(os.path.abspath(__file__))


def train_depot(config):
    import torch
    from torch import nn

    from depots import DEPOTS, trips
    from soil_client import SoilClient

    torch.set_num_threads(1)
    context = ray.train.get_context()
    depot = DEPOTS[context.get_world_rank()]
    model = ray.train.torch.prepare_model(nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    soil = SoilClient(config["service"], depot)

    for week in range(config["weeks"]):
        wetness = soil.wetness(week)
        total = 0.0
        for features, minutes in trips(depot, week, wetness):
            loss = nn.functional.mse_loss(model(features).squeeze(-1), minutes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if week % 13 == 12:                 # once a quarter is enough, reporting is slow
            ray.train.report({"week": week, "loss": total})


def main():
    service = SoilService()
    service.start()
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": HERE}})
    with tempfile.TemporaryDirectory() as folder:
        trainer = ray.train.torch.TorchTrainer(
            train_depot,
            train_loop_config={"lr": 1e-2, "weeks": 26, "service": service.address},
            scaling_config=ScalingConfig(num_workers=3, resources_per_worker={"CPU": 1}),
            torch_config=ray.train.torch.TorchConfig(backend="gloo"),
            run_config=RunConfig(storage_path=folder, name="tractors"),
        )
        print(trainer.fit().metrics)
    ray.shutdown()


if __name__ == "__main__":
    main()
