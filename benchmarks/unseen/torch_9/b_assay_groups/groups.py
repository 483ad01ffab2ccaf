import torch.distributed as dist


class Groups:
    """Named process groups, created when they are first asked for."""

    def __init__(self, **members):
        self.members = {name: sorted(ranks) for name, ranks in members.items()}
        self._made = {}

    def get(self, name):
        if name not in self._made:
            self._made[name] = dist.new_group(self.members[name], group_desc=name)
        return self._made[name]

    def size(self, name):
        return dist.get_world_size(self.get(name))

    def __iter__(self):
        return iter(self.members)
