import torch


class PlanEnv:
    """Toy treatment planning: choose a beam weight per step, be paid for coverage of the target."""

    def __init__(self, seed, obs_dim=12, n_actions=5):
        self.gen = torch.Generator().manual_seed(seed)
        self.obs_dim, self.n_actions = obs_dim, n_actions

    def reset(self, n):
        return torch.randn(n, self.obs_dim, generator=self.gen)

    def step(self, obs, action):
        reward = (action == (obs[:, :1].abs() * 2).long().clamp(max=self.n_actions - 1).squeeze(1)).float()
        return self.reset(len(obs)), reward


def collect(policy, env, horizon, n):
    """Play `horizon` steps with a callable that maps observations to (logits, value)."""
    obs, total = env.reset(n), torch.zeros(n)
    for _ in range(horizon):
        logits, _ = policy(obs)
        obs, reward = env.step(obs, logits.argmax(-1))
        total += reward
    return total / horizon


class Referee:
    def __init__(self, fabric, every, seat):
        self.fabric, self.every, self.seat = fabric, every, seat
        self.env = PlanEnv(seed=0)
        self.history = []

    def visit(self, agent, iteration):
        if iteration % self.every or self.fabric.global_rank != self.seat:
            return
        agent.eval()
        score = collect(agent, self.env, horizon=12, n=16).mean()
        agent.train()
        self.history.append((iteration, float(score)))
        print(f"iteration {iteration}: greedy score {score:.3f}", flush=True)
