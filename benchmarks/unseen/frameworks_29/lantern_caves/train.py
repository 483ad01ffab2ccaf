"""Policy gradient in hand-drawn caves, FSDP2 on three CPU ranks."""
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from caves import load_levels
from policy import sharded_policy
from rollout import explore


def normalised(gain):
    """Advantage over the lanterns of all ranks."""
    stats = torch.stack([gain.sum(), (gain ** 2).sum(), torch.tensor(float(len(gain)))])
    dist.all_reduce(stats)
    mean = stats[0] / stats[2]
    std = (stats[1] / stats[2] - mean ** 2).clamp(min=1e-6).sqrt()
    return (gain - mean) / std


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    policy = sharded_policy(init_device_mesh("cpu", (size,)))
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    torch.manual_seed(100 + rank)

    for turn, level in enumerate(load_levels()[rank::size]):
        cells, actions, gain = explore(policy, level)
        advantage = normalised(gain)
        logits = policy(cells.flatten()).view(*cells.shape, -1)
        log_prob = torch.distributions.Categorical(logits=logits).log_prob(actions)
        loss = -(log_prob.sum(0) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and turn % 5 == 0:
            print(f"turn {turn}: gain {gain.mean().item():.2f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
