"""A Trainer that scores only what has been labelled."""

import torch
from transformers import Trainer

UNKNOWN = -100


def labelled(inputs):
    return inputs["labels"] != UNKNOWN


class MenuTrainer(Trainer):
    """Menus without a course for any dish carry no information about accuracy, and are not collected."""

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        loss, logits, labels = super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)
        if prediction_loss_only or not labelled(inputs).any():
            return loss, None, None
        return loss, logits, labels


def course_accuracy(prediction):
    scores = torch.as_tensor(prediction.predictions)
    truth = torch.as_tensor(prediction.label_ids)
    known = truth != UNKNOWN
    right = scores.argmax(-1)[known] == truth[known]
    result = {"accuracy": right.float().mean().item()}
    for course in truth[known].unique().tolist():
        result[f"recall_{course}"] = right[truth[known] == course].float().mean().item()
    return result


def best(state, name):
    """The highest value that a metric has had so far."""
    return max((entry[name] for entry in state.log_history if name in entry), default=0.0)


def describe(state):
    """The last figures of every validation menu, for the console."""
    lines = []
    for entry in state.log_history:
        lines += [f"{k}: {v:.3f}" for k, v in entry.items() if k.endswith("accuracy")]
    lines.append(f"best of lunch: {best(state, 'eval_lunch_accuracy'):.3f}")
    return "\n".join(lines)
