import argparse
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributions import Categorical

from envs import VecCartPole


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--num-envs", type=int, default=8)
    p.add_argument("--num-steps", type=int, default=64)
    p.add_argument("--total-iterations", type=int, default=50)
    p.add_argument("--learning-rate", type=float, default=1e-3)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--gae-lambda", type=float, default=0.95)
    p.add_argument("--num-minibatches", type=int, default=4)
    p.add_argument("--update-epochs", type=int, default=8)
    p.add_argument("--clip-coef", type=float, default=0.2)
    p.add_argument("--ent-coef", type=float, default=0.01)
    p.add_argument("--vf-coef", type=float, default=0.5)
    p.add_argument("--max-grad-norm", type=float, default=0.5)
    p.add_argument("--target-kl", type=float, default=0.01)
    p.add_argument("--out", default="agent.pt")
    return p.parse_args()


def layer_init(layer, std=np.sqrt(2)):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self, obs_dim=4, n_actions=2, hidden=64):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(obs_dim, hidden)), nn.Tanh(),
            layer_init(nn.Linear(hidden, hidden)), nn.Tanh(),
            layer_init(nn.Linear(hidden, 1), std=1.0),
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(obs_dim, hidden)), nn.Tanh(),
            layer_init(nn.Linear(hidden, hidden)), nn.Tanh(),
            layer_init(nn.Linear(hidden, n_actions), std=0.01),
        )

    def get_value(self, x):
        return self.critic(x).squeeze(-1)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.get_value(x)


def average_gradients(model, world_size):
    flat = torch.cat([p.grad.view(-1) for p in model.parameters() if p.grad is not None])
    dist.all_reduce(flat, op=dist.ReduceOp.SUM)
    offset = 0
    for p in model.parameters():
        if p.grad is not None:
            p.grad.copy_(flat[offset:offset + p.numel()].view_as(p.grad) / world_size)
            offset += p.numel()


def main():
    args = parse_args()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local_rank = int(os.environ["LOCAL_RANK"])
    use_cuda = torch.cuda.is_available()
    if use_cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    dist.init_process_group("nccl" if use_cuda else "gloo")

    # identical initial weights on every rank, then separate streams for the rollouts
    torch.manual_seed(args.seed)
    agent = Agent().to(device)
    seed = args.seed + 1000 * rank
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)

    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    envs = VecCartPole(args.num_envs, seed)

    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros(shape + (4,), device=device)
    actions = torch.zeros(shape, dtype=torch.long, device=device)
    logprobs, rewards, dones, values = (torch.zeros(shape, device=device) for _ in range(4))
    batch_size = args.num_steps * args.num_envs
    minibatch_size = batch_size // args.num_minibatches

    next_obs = torch.from_numpy(envs.reset()).to(device)
    next_done = torch.zeros(args.num_envs, device=device)

    for iteration in range(1, args.total_iterations + 1):
        lr = args.learning_rate * (1.0 - (iteration - 1) / args.total_iterations)
        optimizer.param_groups[0]["lr"] = lr
        episode_returns = []

        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
            actions[step], logprobs[step], values[step] = action, logprob, value
            o, r, d, finished = envs.step(action.cpu().numpy())
            next_obs = torch.from_numpy(o).to(device)
            next_done = torch.from_numpy(d.astype(np.float32)).to(device)
            rewards[step] = torch.from_numpy(r).to(device)
            episode_returns += finished

        with torch.no_grad():
            next_value = agent.get_value(next_obs)
            advantages = torch.zeros_like(rewards)
            last = torch.zeros(args.num_envs, device=device)
            for t in reversed(range(args.num_steps)):
                alive = 1.0 - (next_done if t == args.num_steps - 1 else dones[t + 1])
                following = next_value if t == args.num_steps - 1 else values[t + 1]
                delta = rewards[t] + args.gamma * following * alive - values[t]
                last = delta + args.gamma * args.gae_lambda * alive * last
                advantages[t] = last
            returns = advantages + values

        b_obs, b_actions = obs.reshape(-1, 4), actions.reshape(-1)
        b_logprobs, b_adv, b_ret = logprobs.reshape(-1), advantages.reshape(-1), returns.reshape(-1)
        inds = np.arange(batch_size)
        for _ in range(args.update_epochs):
            np.random.shuffle(inds)
            for start in range(0, batch_size, minibatch_size):
                mb = torch.from_numpy(inds[start:start + minibatch_size]).to(device)
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
                logratio = newlogprob - b_logprobs[mb]
                ratio = logratio.exp()
                with torch.no_grad():
                    approx_kl = ((ratio - 1) - logratio).mean()
                adv = b_adv[mb]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg_loss = torch.max(
                    -adv * ratio, -adv * ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                ).mean()
                v_loss = 0.5 * (newvalue - b_ret[mb]).pow(2).mean()
                loss = pg_loss + args.vf_coef * v_loss - args.ent_coef * entropy.mean()

                optimizer.zero_grad()
                loss.backward()
                average_gradients(agent, world_size)
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

            if args.target_kl is not None and approx_kl > args.target_kl:
                break

        stats = torch.tensor(
            [sum(episode_returns), len(episode_returns)], dtype=torch.float32, device=device
        )
        dist.reduce(stats, dst=0)
        if rank == 0 and stats[1] > 0:
            print(f"iter {iteration} lr {lr:.2e} return {stats[0] / stats[1]:.1f}", flush=True)

    if rank == 0:
        torch.save(agent.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
