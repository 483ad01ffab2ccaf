"""Which rank lives on which node, and the groups that follow from it."""
import torch.distributed as dist


class Topology:
    def __init__(self, gpus_per_node):
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        if self.world % gpus_per_node:
            raise ValueError(f"world size {self.world} is not a multiple of {gpus_per_node}")
        self.gpus_per_node = gpus_per_node
        self.node = self.rank // gpus_per_node
        self.num_nodes = self.world // gpus_per_node
        self.node_groups = [dist.new_group(self.node_ranks(n)) for n in range(self.num_nodes)]
        self.leader_group = dist.new_group([n * gpus_per_node for n in range(self.num_nodes)])

    def node_ranks(self, node):
        return list(range(node * self.gpus_per_node, (node + 1) * self.gpus_per_node))

    @property
    def leader(self):
        return self.node * self.gpus_per_node

    @property
    def is_leader(self):
        return self.rank == self.leader

    @property
    def node_group(self):
        return self.node_groups[self.node]
