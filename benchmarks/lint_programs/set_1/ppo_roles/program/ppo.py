from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from policy import response_logps


@dataclass
class PPOConfig:
    lr: float = 2e-6
    clip: float = 0.2
    epochs: int = 4
    minibatch: int = 16
    target_kl: float = 0.02
    max_grad_norm: float = 1.0


class Learner:
    def __init__(self, model, group, prompt_len, cfg):
        self.group, self.prompt_len, self.cfg = group, prompt_len, cfg
        self.n = dist.get_world_size(group)
        self.model = DDP(model, device_ids=[torch.cuda.current_device()], process_group=group)
        self.opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.0)

    def _mean(self, t):
        t = t.detach().clone()
        dist.all_reduce(t, group=self.group)
        return t / self.n

    def advantages(self, reward):
        mean = self._mean(reward.mean())
        var = self._mean((reward - mean).pow(2).mean())
        return (reward - mean) / (var.sqrt() + 1e-6), mean

    def minibatch_step(self, ids, old_logp, adv):
        logp = response_logps(self.model, ids, self.prompt_len)
        log_ratio = logp - old_logp
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - self.cfg.clip, 1 + self.cfg.clip)
        loss = -torch.minimum(ratio * adv[:, None], clipped * adv[:, None]).mean()
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_grad_norm)
        self.opt.step()
        return ((ratio - 1) - log_ratio).mean().detach()

    def update(self, rollouts):
        """PPO epochs over the rollouts, cut short when the policy has moved enough."""
        adv, mean_reward = self.advantages(rollouts.reward)
        done = 0
        for _ in range(self.cfg.epochs):
            order = torch.randperm(rollouts.ids.size(0), device="cuda")
            kls = []
            for idx in order.split(self.cfg.minibatch):
                kls.append(self.minibatch_step(rollouts.ids[idx], rollouts.logp[idx], adv[idx]))
            done += 1
            kl = torch.stack(kls).mean()
            if kl > 1.5 * self.cfg.target_kl:
                break
        return {"reward": mean_reward.item(), "kl": kl.item(), "epochs": done}
