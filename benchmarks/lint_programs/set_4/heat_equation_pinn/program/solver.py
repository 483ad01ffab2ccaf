import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from pinn import draw, exact


class Solver:
    def __init__(self, model, args, device):
        self.args, self.device = args, device
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.model = DDP(model.to(device), device_ids=[device.index] if device.type == "cuda" else None)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.sched = torch.optim.lr_scheduler.ExponentialLR(self.opt, gamma=0.9995)
        self.gen = torch.Generator().manual_seed(args.seed + 1 + self.rank)

    @property
    def net(self):
        return self.model.module

    def compute_losses(self):
        batch = draw(self.args.points, self.gen, self.device)
        return self.net.loss(batch)

    def step(self):
        losses = self.compute_losses()
        total = sum(losses.values())
        self.opt.zero_grad(set_to_none=True)
        total.backward()
        self.opt.step()
        self.sched.step()
        return {k: v.detach() for k, v in losses.items()}

    def log(self, step, losses):
        values = torch.stack([losses["pde"], losses["border"]])
        dist.all_reduce(values)
        pde, border = (values / self.world).tolist()
        if self.rank == 0:
            print(f"step {step} pde {pde:.3e} border {border:.3e}", flush=True)

    @torch.no_grad()
    def error(self):
        side = torch.linspace(0, 1, 41)
        grid = torch.cartesian_prod(side, side).to(self.device)
        diff = self.net(grid) - exact(grid)
        return (diff.norm() / exact(grid).norm()).item()

    def fit(self):
        for step in range(1, self.args.steps + 1):
            losses = self.step()
            if step % self.args.log_every == 0:
                self.log(step, losses)
        if self.rank == 0:
            print(f"done, relative L2 error {self.error():.4f}", flush=True)
            torch.save(self.net.state_dict(), self.args.out)
        dist.barrier()
