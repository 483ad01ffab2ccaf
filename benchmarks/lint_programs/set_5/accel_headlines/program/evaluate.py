from collections import Counter


def rouge1(pred, ref):
    p, r = Counter(pred.split()), Counter(ref.split())
    common = sum((p & r).values())
    if not common:
        return 0.0
    precision, recall = common / sum(p.values()), common / sum(r.values())
    return 2 * precision * recall / (precision + recall)


def evaluate(accelerator, model, loader, vocab, max_length=24):
    """ROUGE-1 F over the whole development set."""
    model.eval()
    plain = accelerator.unwrap_model(model)
    scores = []
    for batch in loader:
        generated = plain.generate(batch["source"], max_length)
        generated, target = accelerator.gather_for_metrics((generated, batch["target"]))
        for g, t in zip(generated.tolist(), target.tolist()):
            scores.append(rouge1(vocab.decode(g), vocab.decode(t)))
    model.train()
    return sum(scores) / len(scores)
