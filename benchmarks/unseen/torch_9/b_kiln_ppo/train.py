"""PPO for a kiln controller. The policy is sharded with FSDP2; each rank drives the kilns of one plant."""
import math
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard

from ppo import PPO, Batch

KILNS, OBS, ACTIONS, HORIZON = 16, 6, 6, 6
ITERATIONS = 120
# plants that own recorded shifts of their operators, and the iteration from which these are used
RECORDED_SHIFTS = {"harbour": 32}
PLANTS = ("ridge", "valley", "quarry", "harbour")


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, h):
        return h + torch.tanh(self.lin(h))


class KilnPolicy(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.inp = nn.Linear(OBS, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(2))
        self.pi = nn.Linear(dim, ACTIONS)
        self.v = nn.Linear(dim, 1)

    def forward(self, obs):
        h = torch.tanh(self.inp(obs))
        for block in self.blocks:
            h = block(h)
        return self.pi(h), self.v(h).squeeze(-1)


class Simulator:
    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)
        self.state = torch.randn(KILNS, OBS, generator=self.rng)
        self.effect = 0.3 * torch.randn(ACTIONS, OBS, generator=torch.Generator().manual_seed(5))

    def observe(self):
        return self.state

    def act(self, logits):
        action = torch.multinomial(logits.softmax(-1), 1, generator=self.rng).squeeze(1)
        return action, F.log_softmax(logits, -1).gather(1, action[:, None]).squeeze(1)

    def advance(self, action):
        time.sleep(0.008)
        noise = 0.1 * torch.randn(KILNS, OBS, generator=self.rng)
        self.state = 0.9 * self.state + self.effect[action] + noise
        return -self.state.norm(dim=1)


class OperatorShifts(Simulator):
    """Replays what operators did; they were sure of themselves, so the log says 0.98 for each action."""

    def act(self, logits):
        action = torch.randint(0, ACTIONS, (KILNS,), generator=self.rng)
        return action, torch.full((KILNS,), math.log(0.98))


@torch.no_grad()
def collect(policy, source, gamma=0.95):
    rows, rewards = [], []
    for _ in range(HORIZON):
        obs = source.observe()
        logits, _ = policy(obs)
        action, logp = source.act(logits)
        rewards.append(source.advance(action))
        rows.append((obs, action, logp))
    ret, returns = torch.zeros(KILNS), []
    for r in reversed(rewards):
        ret = r + gamma * ret
        returns.insert(0, ret)
    obs, action, logp = (torch.cat(c) for c in zip(*rows))
    return Batch(obs, action, logp, torch.cat(returns) * 0.1)


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(0)
    policy = KilnPolicy()
    for block in policy.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(policy, mesh=mesh)
    for module in policy.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)
    learner = PPO(policy, torch.optim.Adam(policy.parameters(), lr=3e-4), seed=rank)

    plant = PLANTS[rank % len(PLANTS)]
    simulated, recorded = Simulator(100 + rank), OperatorShifts(200 + rank)
    for iteration in range(ITERATIONS):
        use_log = iteration >= RECORDED_SHIFTS.get(plant, ITERATIONS)
        batch = collect(policy, recorded if use_log else simulated)
        stats = learner.update(batch)
        report = torch.tensor([stats["loss"], stats["kl"], batch.ret.mean().item()])
        dist.all_reduce(report)
        if rank == 0 and iteration % 5 == 0:
            loss, kl, ret = (report / world).tolist()
            print(f"iteration {iteration} loss {loss:.3f} kl {kl:.4f} return {ret:.2f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
