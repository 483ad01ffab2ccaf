from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass
class Batch:
    obs: torch.Tensor
    action: torch.Tensor
    logp: torch.Tensor
    ret: torch.Tensor

    def __len__(self):
        return self.obs.shape[0]

    def take(self, idx):
        return Batch(self.obs[idx], self.action[idx], self.logp[idx], self.ret[idx])


class PPO:
    def __init__(self, policy, optimizer, epochs=3, minibatches=2, clip=0.2, target_kl=0.3, seed=0):
        self.policy = policy
        self.optimizer = optimizer
        self.epochs = epochs
        self.minibatches = minibatches
        self.clip = clip
        self.target_kl = target_kl
        self.rng = torch.Generator().manual_seed(seed)

    def _loss(self, part):
        logits, value = self.policy(part.obs)
        logp = F.log_softmax(logits, dim=-1).gather(1, part.action[:, None]).squeeze(1)
        adv = part.ret - value.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        ratio = (logp - part.logp).exp()
        surrogate = torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv)
        loss = -surrogate.mean() + 0.5 * F.mse_loss(value, part.ret)
        return loss, (part.logp - logp.detach()).mean().item()

    def update(self, batch):
        total, steps, approx_kl = 0.0, 0, 0.0
        for _ in range(self.epochs):
            order = torch.randperm(len(batch), generator=self.rng)
            kls = []
            for idx in order.chunk(self.minibatches):
                loss, kl = self._loss(batch.take(idx))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
                steps += 1
                kls.append(kl)
            approx_kl = sum(kls) / len(kls)
            if approx_kl > self.target_kl:
                break
        return {"loss": total / steps, "kl": approx_kl, "steps": float(steps)}
