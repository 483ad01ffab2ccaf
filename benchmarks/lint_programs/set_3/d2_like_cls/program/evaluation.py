import torch

import comm


class ClsEvaluator:
    def __init__(self, classes):
        self.classes = classes

    def reset(self):
        self.pred = []

    def process(self, logits, y):
        self.pred += list(zip(logits.argmax(-1).tolist(), y.tolist()))

    def evaluate(self):
        everything = comm.gather(self.pred)
        if not comm.is_main():
            return {}
        pred = [p for part in everything for p in part]
        per_class = []
        for c in range(self.classes):
            hits = [p == c for p, y in pred if y == c]
            if hits:
                per_class.append(sum(hits) / len(hits))
        return {"acc": sum(p == y for p, y in pred) / len(pred), "mean_class_acc": sum(per_class) / len(per_class)}


@torch.no_grad()
def inference_on_dataset(model, loader, evaluator):
    model.eval()
    evaluator.reset()
    for x, y in loader:
        evaluator.process(model(x), y)
    model.train()
    return evaluator.evaluate()
