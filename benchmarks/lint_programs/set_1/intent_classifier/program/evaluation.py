import torch


def macro_f1(preds, refs, num_labels):
    scores = []
    for c in range(num_labels):
        tp = ((preds == c) & (refs == c)).sum().item()
        fp = ((preds == c) & (refs != c)).sum().item()
        fn = ((preds != c) & (refs == c)).sum().item()
        if tp + fn == 0:
            continue
        scores.append(2 * tp / (2 * tp + fp + fn))
    return sum(scores) / max(len(scores), 1)


@torch.no_grad()
def evaluate(accelerator, model, loader, num_labels):
    """Scores on the whole validation set. Only the main process gets numbers back."""
    model.eval()
    all_preds, all_refs = [], []
    for batch in loader:
        logits = model(**batch).logits
        preds = logits.argmax(dim=-1)
        if accelerator.is_main_process:
            preds, refs = accelerator.gather_for_metrics((preds, batch["labels"]))
            all_preds.append(preds.cpu())
            all_refs.append(refs.cpu())
    model.train()

    if not accelerator.is_main_process:
        return None
    preds, refs = torch.cat(all_preds), torch.cat(all_refs)
    return {
        "accuracy": (preds == refs).float().mean().item(),
        "macro_f1": macro_f1(preds, refs, num_labels),
        "n": refs.numel(),
    }
