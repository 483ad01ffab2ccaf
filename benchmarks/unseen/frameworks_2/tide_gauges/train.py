import os, tempfile, time
import ray, torch
from ray import train
from ray.train.torch import TorchTrainer, prepare_model
from torch import nn

# Harmonic tide model. One worker per coast; each season ends with a hindcast of the whole archive
# on worker 0, which is much longer than the training itself.


def coast(number, hours=1200):
    t = torch.arange(hours, dtype=torch.float32) / 24
    phases = torch.tensor([12.42, 12.0, 25.82, 23.93]) / 24
    waves = torch.cat([torch.sin(2 * torch.pi * t[:, None] / phases), torch.cos(2 * torch.pi * t[:, None] / phases)], 1)
    gen = torch.Generator().manual_seed(number)
    level = waves @ torch.randn(8, generator=gen) + 0.05 * torch.randn(hours, generator=gen)
    return waves, level


def hindcast(model, months, pause):
    """Predict the archive month by month; the files are on a tape library."""
    worst = 0.0
    waves, level = coast(0)
    with torch.no_grad():
        for month in range(months):
            for _ in range(5):
                time.sleep(pause / 5)
            piece = slice(month * 40, month * 40 + 40)
            worst = max(worst, (model(waves[piece]).squeeze(1) - level[piece]).abs().max().item())
    return worst


def worker(config):
    rank = train.get_context().get_world_rank()
    model = prepare_model(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    waves, level = coast(rank)
    for season in range(config["seasons"]):
        for start in range(0, 25 * 16, 16):
            loss = (model(waves[start:start + 16]).squeeze(1) - level[start:start + 16]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.02)
        metrics = {"season": season, "loss": loss.item()}
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if rank == 0:
                metrics["worst"] = hindcast(model.module, config["months"], config["tape"])
                torch.save(model.module.state_dict(), os.path.join(folder, "tide.pt"))
                checkpoint = train.Checkpoint.from_directory(folder)
            train.report(metrics, checkpoint=checkpoint)


def main():
    ray.init(num_cpus=4, include_dashboard=False)
    trainer = TorchTrainer(
        worker,
        train_loop_config=dict(seasons=2, months=24, tape=0.4),
        scaling_config=train.ScalingConfig(num_workers=2),
        run_config=train.RunConfig(name=f"tides-{os.getpid()}", storage_path="/tmp/tide_gauges",
                                   checkpoint_config=train.CheckpointConfig(num_to_keep=1)),
    )
    print(trainer.fit().metrics)


if __name__ == "__main__":
    main()
