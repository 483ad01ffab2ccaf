import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


class Context:
    def __init__(self, cp):
        world = dist.get_world_size()
        self.mesh = init_device_mesh("cuda", (world // cp, cp), mesh_dim_names=("dp", "cp"))
        self.cp, self.dp = cp, world // cp
        self.cp_rank = self.mesh.get_local_rank("cp")
        self.dp_rank = self.mesh.get_local_rank("dp")
        self.cp_group = self.mesh.get_group("cp")

    def cut(self, t):
        """This rank's piece of a (batch, sequence) tensor."""
        n = t.size(1) // self.cp
        return t[:, self.cp_rank * n : (self.cp_rank + 1) * n].contiguous()


class GatherSequence(torch.autograd.Function):
    """(b, h, s/cp, d) -> (b, h, s, d); the gradient is summed back to the owners."""

    @staticmethod
    def forward(ctx, x, ctx_par):
        ctx.par = ctx_par
        x = x.contiguous()
        parts = [torch.empty_like(x) for _ in range(ctx_par.cp)]
        dist.all_gather(parts, x, group=ctx_par.cp_group)
        return torch.cat(parts, dim=2)

    @staticmethod
    def backward(ctx, grad):
        par = ctx.par
        chunks = [c.contiguous() for c in grad.chunk(par.cp, dim=2)]
        out = torch.empty_like(chunks[0])
        dist.reduce_scatter(out, chunks, group=par.cp_group)
        return out, None
