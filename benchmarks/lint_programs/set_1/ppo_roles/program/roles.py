import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Cluster:
    def __init__(self, n_learners):
        self.rank, world = dist.get_rank(), dist.get_world_size()
        self.learners = list(range(n_learners))
        self.actors = list(range(n_learners, world))
        if not self.actors or len(self.actors) % n_learners:
            raise SystemExit(f"{len(self.actors)} actors for {n_learners} learners")
        self.is_learner = self.rank in self.learners
        self.learner_group = dist.new_group(self.learners)
        self.sync_group = dist.new_group([0] + self.actors)

    def my_learner(self):
        return self.actors.index(self.rank) % len(self.learners)

    def my_actors(self):
        return self.actors[self.rank :: len(self.learners)]

    def sync_weights(self, model):
        """Weights of rank 0 to the actors; the other learners have them already."""
        if self.rank != 0 and self.is_learner:
            return
        flat = parameters_to_vector(model.parameters()).detach()
        dist.broadcast(flat, src=0, group=self.sync_group)
        if not self.is_learner:
            vector_to_parameters(flat, model.parameters())


class Rollouts:
    """ids (n, t) int64, logp (n, response) and reward (n,) float32."""

    def __init__(self, ids, logp, reward):
        self.ids, self.logp, self.reward = ids, logp, reward

    @classmethod
    def empty(cls, n, prompt_len, new_tokens):
        return cls(
            torch.empty(n, prompt_len + new_tokens, dtype=torch.int64, device="cuda"),
            torch.empty(n, new_tokens, device="cuda"),
            torch.empty(n, device="cuda"),
        )

    def parts(self):
        return self.ids, self.logp, self.reward

    def send(self, dst):
        for t in self.parts():
            dist.send(t.contiguous(), dst)

    def recv(self, src):
        for t in self.parts():
            dist.recv(t, src)
        return self

    @classmethod
    def concat(cls, many):
        return cls(*(torch.cat(ts) for ts in zip(*(m.parts() for m in many))))
