from contextlib import contextmanager

import torch
import torch.nn.functional as F


def kd_loss(student_logits, teacher_logits, labels, temperature=3.0, alpha=0.7):
    soft = F.kl_div(
        F.log_softmax(student_logits / temperature, 1),
        F.softmax(teacher_logits / temperature, 1),
        reduction="batchmean",
    ) * temperature ** 2
    return alpha * soft + (1 - alpha) * F.cross_entropy(student_logits, labels)


@contextmanager
def evaluating(module):
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield module
    finally:
        module.train(was_training)


class AgreementProbe:
    """Follows how often the student agrees with its teacher on a fixed probe set."""

    def __init__(self, teacher, probe, every, owner):
        self.teacher, self.probe, self.every, self.owner = teacher, probe, every, owner
        self.history = []

    def maybe_run(self, step, student, rank):
        if step == 0 or step % self.every or rank != self.owner:
            return
        hits = seen = 0
        with evaluating(student):
            for images in self.probe.split(8):
                ours = student(images).argmax(1)
                theirs = self.teacher(images).argmax(1)
                hits += int((ours == theirs).sum())
                seen += len(images)
        self.history.append(hits / seen)
        print(f"[probe] step {step} agreement {hits / seen:.2%}", flush=True)
