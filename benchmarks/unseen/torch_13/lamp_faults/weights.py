"""Weights of the fault classes, computed by the first process from the confusions of all, and read by the others."""
import json
import logging

import torch
import torch.distributed as dist

log = logging.getLogger("weights")


class ClassWeights:
    def __init__(self, classes, sharpness=1.0):
        self.classes = classes
        self.sharpness = sharpness
        self.store = dist.PrefixStore("class-weights", dist.distributed_c10d._get_default_store())
        self.current = torch.ones(classes)

    def report(self, epoch, confusion):
        self.store.set(f"confusion/{epoch}/{dist.get_rank()}", json.dumps(confusion.tolist()))

    def collect(self, epoch):
        total = torch.zeros(self.classes, self.classes)
        for rank in range(dist.get_world_size()):
            total += torch.tensor(json.loads(self.store.get(f"confusion/{epoch}/{rank}")))
        return total.tolist()

    def decide(self, table):
        weights = []
        for true, row in enumerate(table):
            missed = sum(row) - row[true]
            recall = row[true] / sum(row)
            precision = row[true] / sum(line[true] for line in table)
            weights.append(1.0 + self.sharpness * (1.0 - recall * precision) * (missed > 0))
        return weights

    def publish(self, epoch):
        try:
            weights = self.decide(self.collect(epoch))
            self.store.set(f"weights/{epoch}", json.dumps(weights))
            self.current = torch.tensor(weights)
        except ArithmeticError as error:
            log.warning("epoch %d keeps its class weights: %s", epoch, error)

    def update(self, epoch, confusion):
        self.report(epoch, confusion)
        if dist.get_rank() == 0:
            self.publish(epoch)
        else:
            self.current = torch.tensor(json.loads(self.store.get(f"weights/{epoch}")))
        return self.current
