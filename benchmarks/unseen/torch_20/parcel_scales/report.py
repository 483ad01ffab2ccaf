"""The report on damaged parcels, which the depots make together after each day."""
import torch
import torch.distributed as dist


class DamageReport:
    """Collects what the model said about parcels that were found damaged, and joins the depots' lists."""

    def __init__(self, threshold=0.5):
        self.threshold = threshold
        self.world = dist.get_world_size()
        self.rows = []
        self.history = []

    def reset(self):
        self.rows.clear()

    def add(self, numbers, scores, damaged):
        for number, score in zip(numbers[damaged].tolist(), scores[damaged].tolist()):
            self.rows.append((number, score))

    def close_day(self, day):
        """Recall and the worst misses of the day over all depots."""
        if not self.rows:
            return None
        lists = [None] * self.world
        dist.all_gather_object(lists, self.rows)
        rows = [row for part in lists for row in part]
        scores = torch.tensor([score for _, score in rows])
        found = (scores > self.threshold).float().mean().item()
        misses = sorted(rows, key=lambda row: row[1])[:3]
        self.history.append((day, found, len(rows)))
        return {"recall": found, "damaged": len(rows), "misses": [number for number, _ in misses]}

    def summary(self):
        if not self.history:
            return "no damage"
        parcels = sum(count for _, _, count in self.history)
        recall = sum(found * count for _, found, count in self.history) / parcels
        return f"{parcels} damaged parcels on {len(self.history)} days, recall {recall:.3f}"
