import os
import random
import sys

import torch
import torch.distributed as dist

from config import load_config
from diffusion import Denoiser, Schedule, moons
from engine import Engine


def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def main():
    cfg = load_config(sys.argv[1], sys.argv[2:])
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    seed_everything(cfg.seed + rank)  # every rank draws its own points, noise and timesteps
    model = Denoiser(cfg.model.width, cfg.model.depth, cfg.model.time_dim).to(device)
    engine = Engine(model, cfg.train.lr, cfg.train.ema)
    schedule = Schedule(cfg.diffusion.timesteps, cfg.diffusion.beta_min, cfg.diffusion.beta_max, device)

    for step in range(1, cfg.train.steps + 1):
        loss = schedule.loss(engine.model, moons(cfg.train.batch, device))
        engine.step(loss)
        if step % cfg.train.log_every == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.4f}", flush=True)

    if rank == 0:
        torch.save({"model": model.state_dict(), "ema": engine.ema.state_dict()}, cfg.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
