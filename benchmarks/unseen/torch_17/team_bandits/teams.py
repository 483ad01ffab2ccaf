"""Teams of processes that share the policy of their best member."""
import torch
import torch.distributed as dist


class Team:
    def __init__(self, members, group):
        self.members = members
        self.group = group

    @classmethod
    def build(cls, size):
        """Neighbouring ranks form a team. All processes create the groups of all teams."""
        own = None
        for start in range(0, dist.get_world_size(), size):
            members = list(range(start, start + size))
            group = dist.new_group(members)
            if dist.get_rank() in members:
                own = cls(members, group)
        return own

    def scores(self, score):
        table = [torch.zeros(1) for _ in self.members]
        dist.all_gather(table, torch.tensor([float(score)]), group=self.group)
        return torch.cat(table)

    def copy_best(self, model, score):
        """Everyone in the team goes on with the policy of its best member."""
        best = int(self.scores(score).argmax())
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, src=best, group=self.group)
        return best

    def mean(self, score):
        return self.scores(score).mean().item()


class Rivalry:
    """When do the members of a team stop to compete and go on from the best policy?"""

    def __init__(self, team, trials):
        self.team = team
        self.trials = trials

    def due(self, round_number):
        return round_number + 1 >= self.trials and (round_number + 1) % 5 == 0

    def settle(self, round_number, model, score):
        if self.due(round_number):
            return self.team.copy_best(model, score)
        return None
