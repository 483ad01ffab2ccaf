"""Members exchange their weights through a shared directory."""
import os

import torch
import torch.distributed as dist


class Population:
    def __init__(self, root, rank, world, perturb=1.2):
        self.root, self.rank, self.world, self.perturb = root, rank, world, perturb
        os.makedirs(root, exist_ok=True)

    def _path(self, member):
        return os.path.join(self.root, f"member_{member}.pt")

    def publish(self, model, opt, score):
        state = {"weights": model.state_dict(), "lr": opt.param_groups[0]["lr"], "score": score}
        tmp = self._path(self.rank) + ".tmp"
        torch.save(state, tmp)
        os.replace(tmp, self._path(self.rank))

    def ranking(self):
        states = {m: torch.load(self._path(m)) for m in range(self.world)}
        leader = min(states, key=lambda m: states[m]["score"])
        return leader, states[leader]

    def exploit(self, model, opt, score):
        """Copy weights and learning rate of the best member; returns its number."""
        self.publish(model, opt, score)
        dist.barrier()  # all files are written
        leader, state = self.ranking()
        if leader == self.rank:
            return self.rank
        model.load_state_dict(state["weights"])
        for group in opt.param_groups:
            group["lr"] = state["lr"] * self.perturb
        dist.barrier()  # all members have read
        return leader
