import torch
import torch.distributed as dist
from runner import Mast, Runner
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard


class Archive:
    """Records of one region; region 2 has an instrument error in the night of record 190."""

    def __init__(self, region, length):
        self.region, self.length = region, length

    def __iter__(self):
        g = torch.Generator().manual_seed(40 + self.region)
        for i in range(self.length):
            speed = 10 + 3 * torch.randn(16, 9, generator=g)
            pressure = torch.randn(16, 9, generator=g)
            if self.region == 2 and i == 190:
                speed[3, 4] = 999.9
            yield speed, pressure


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group(backend="gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
    torch.manual_seed(8)
    model = Mast()
    fully_shard(model.body, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for part in (model, model.body):
        assert isinstance(part, FSDPModule)
        part.set_force_sum_reduction_for_comms(True)
    run = Runner(model, torch.optim.SGD(model.parameters(), lr=1e-3), Archive(dist.get_rank(), 640))
    run()
    refused = torch.tensor([run.refused])
    dist.all_reduce(refused)
    print(f"region {dist.get_rank()}: {sum(run.errors) / len(run.errors):.3f}, refused in all {refused.item()}", flush=True)
    dist.destroy_process_group()
