import torch.nn.functional as F

AVAILABLE = {"loss", "cls", "box", "objectness", "accuracy"}


def select(requested):
    """Names to be tracked out of a comma-separated option ('all' for everything)."""
    if requested == "all":
        return AVAILABLE
    names = {n.strip() for n in requested.split(",")} | {"loss"}
    unknown = names - AVAILABLE
    if unknown:
        raise SystemExit(f"unknown metrics: {', '.join(sorted(unknown))}")
    return names


def detection_losses(outputs, target):
    logits, boxes, obj = outputs
    present = target["present"]
    cls = F.cross_entropy(logits, target["label"])
    box = (F.smooth_l1_loss(boxes, target["box"], reduction="none").mean(1) * present).mean()
    objectness = F.binary_cross_entropy_with_logits(obj, present)
    return {
        "loss": cls + 5.0 * box + objectness,
        "cls": cls,
        "box": box,
        "objectness": objectness,
        "accuracy": (logits.argmax(1) == target["label"]).float().mean(),
    }
