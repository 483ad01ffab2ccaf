"""Functions of frameworks in which all ranks meet without torch.distributed.

The probe runs where ddpdoctor may not be installed and has a copy of what it needs; a test compares the two.
"""

from __future__ import annotations

from ddpdoctor.model.named_tuple import NamedTuple


class Meeting(NamedTuple):
    """A method in which every rank of the job waits for all others."""

    #: canonical name, as people call it
    op: str
    module: str
    owner: str
    method: str

    def shows(self, file: str, function: str) -> bool:
        """Whether a frame is this method; from Python 3.11 on stacks have qualified names."""
        return file.endswith(self.module.replace(".", "/") + ".py") and function.rpartition(".")[2] == self.method


#: by the name under which the probe records it
MEETINGS = {
    meeting.op: meeting
    for meeting in (
        # every worker waits until all have reported: they agree on the name of the checkpoint (seen in Ray 2.60)
        Meeting("ray.train.report", "ray.train.v2._internal.execution.context", "TrainContext", "report"),
    )
}
