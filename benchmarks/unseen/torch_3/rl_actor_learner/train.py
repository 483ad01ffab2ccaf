"""REINFORCE with one background actor per rank and a synchronous learner."""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from agent.actor import Actor


def make_policy():
    return nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))


def returns(episode, gamma=0.97):
    out, acc = [], 0.0
    for _, _, reward in reversed(episode):
        acc = reward + gamma * acc
        out.append(acc)
    return out[::-1]


def policy_loss(policy, episodes):
    obs = torch.tensor([s[0] for ep in episodes for s in ep])
    act = torch.tensor([s[1] for ep in episodes for s in ep])
    ret = torch.tensor([g for ep in episodes for g in returns(ep)])
    adv = (ret - ret.mean()) / (ret.std() + 1e-5)
    logp = policy(obs).log_softmax(-1).gather(1, act[:, None]).squeeze(1)
    return -(logp * adv).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=45)
    ap.add_argument("--episodes", type=int, default=2)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    learner = DDP(make_policy())
    optimizer = torch.optim.Adam(learner.parameters(), lr=3e-3)

    # rank 0 plays in the foreground so that its episodes can be recorded as evaluation runs
    actor = Actor(make_policy, seed=rank, episodes=args.episodes)
    if rank > 0:
        actor.start()
    for update in range(args.updates):
        if rank > 0:
            actor.update(learner.module.state_dict())
            episodes = actor.rollouts.get()
        else:
            actor.policy.load_state_dict(learner.module.state_dict())
            episodes = [actor.episode() for _ in range(args.episodes)]
        loss = policy_loss(learner, episodes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        score = torch.tensor(sum(s[2] for ep in episodes for s in ep) / args.episodes)
        dist.all_reduce(score)
        if rank == 0 and update % 10 == 0:
            print(f"update {update} score {score.item() / world:.3f}", flush=True)
    judge = Actor(make_policy, seed=100 + rank, episodes=20)
    judge.policy.load_state_dict(learner.module.state_dict())
    final = [sum(s[2] for s in judge.episode()) for _ in range(judge.episodes)]
    print(f"rank {rank}: final score {sum(final) / len(final):.3f}", flush=True)
    actor.stop()
    dist.barrier()
    dist.destroy_process_group()
    print(f"rank {rank} finished", flush=True)


if __name__ == "__main__":
    main()
