from fairlite.data import PAD
from fairlite.distributed_utils import unwrap


class LabelSmoothedCrossEntropy:
    def __init__(self, label_smoothing=0.1, report_accuracy=False):
        self.eps = label_smoothing
        self.report_accuracy = report_accuracy

    def __call__(self, model, sample):
        """Returns the summed loss, the sample size and the values to log."""
        net = unwrap(model)
        net_output = net(**sample["net_input"])
        lprobs = net.get_normalized_probs(net_output)
        target = sample["target"]
        keep = target.ne(PAD)

        nll = -lprobs.gather(-1, target.unsqueeze(-1)).squeeze(-1)[keep].sum()
        smooth = -lprobs.mean(-1)[keep].sum()
        loss = (1.0 - self.eps) * nll + self.eps * smooth

        log = {"loss": loss.item(), "nll": nll.item(), "ntokens": sample["ntokens"]}
        if self.report_accuracy:
            log["n_correct"] = lprobs.argmax(-1).eq(target)[keep].sum().item()
        return loss, sample["ntokens"], log
