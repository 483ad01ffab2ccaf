import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


@torch.no_grad()
def greedy_match(logits, boxes, target):
    """Pairs every target with a query of its own, cheapest pairs first."""
    cost = torch.cdist(boxes, target["boxes"], p=1) - logits.softmax(-1)[:, target["labels"]]
    rows, cols = [], []
    for _ in range(min(cost.shape)):
        flat = int(cost.argmin())
        r, c = divmod(flat, cost.shape[1])
        rows.append(r)
        cols.append(c)
        cost[r, :] = float("inf")
        cost[:, c] = float("inf")
    return torch.tensor(rows, dtype=torch.long), torch.tensor(cols, dtype=torch.long)


class SetCriterion(nn.Module):
    def __init__(self, num_classes, no_object_weight=0.1, box_weight=5.0):
        super().__init__()
        self.num_classes = num_classes
        self.box_weight = box_weight
        weight = torch.ones(num_classes + 1)
        weight[-1] = no_object_weight
        self.register_buffer("class_weight", weight)

    def _average_boxes(self, targets, device):
        count = torch.tensor(float(sum(len(t["labels"]) for t in targets)), device=device)
        if dist.is_available() and dist.is_initialized():
            dist.all_reduce(count)
            count /= dist.get_world_size()
        return count.clamp(min=1.0)

    def _classes(self, logits, targets, matches):
        wanted = torch.full(logits.shape[:2], self.num_classes, dtype=torch.long, device=logits.device)
        for i, (rows, cols) in enumerate(matches):
            wanted[i, rows] = targets[i]["labels"][cols]
        return F.cross_entropy(logits.transpose(1, 2), wanted, self.class_weight)

    def _boxes(self, boxes, targets, matches, num_boxes):
        total = boxes.sum() * 0.0
        for i, (rows, cols) in enumerate(matches):
            total = total + F.l1_loss(boxes[i, rows], targets[i]["boxes"][cols], reduction="sum")
        return total / num_boxes

    def forward(self, outputs, targets):
        logits, boxes = outputs["logits"], outputs["boxes"]
        if all(len(t["labels"]) == 0 for t in targets):
            empty = [(torch.empty(0, dtype=torch.long),) * 2 for _ in targets]
            return {"class": self._classes(logits, targets, empty), "box": boxes.sum() * 0.0}

        matches = [greedy_match(logits[i], boxes[i], t) for i, t in enumerate(targets)]
        num_boxes = self._average_boxes(targets, logits.device)
        return {
            "class": self._classes(logits, targets, matches),
            "box": self.box_weight * self._boxes(boxes, targets, matches, num_boxes),
        }
