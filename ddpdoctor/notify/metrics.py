"""Pure. The state of a watched job in the Prometheus text format, for the node exporter's textfile collector.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.model.report import Report


@dataclass(frozen=True, slots=True)
class JobState:
    """What is known of the job at one moment."""

    #: seconds since the epoch
    now: float
    running: bool
    ranks: int
    #: the most optimizer steps of any rank
    steps: int
    #: no rank makes progress
    stalled: bool
    #: verdicts that were shown, and the last one that still holds
    incidents: int
    standing: Report | None = None
    #: of the job, None while it runs
    status: int | None = None


def render(state: JobState) -> str:
    """The file: every metric with its help and type, as the format asks for."""
    lines = [
        *_metric("running", "1 while the job runs.", int(state.running)),
        *_metric("ranks", "Ranks that were seen.", state.ranks),
        *_metric("steps_total", "The most optimizer steps of any rank.", state.steps, kind="counter"),
        *_metric("stalled", "1 while no rank makes progress.", int(state.stalled)),
        *_metric("incidents_total", "Hangs and crashes that were reported.", state.incidents, kind="counter"),
        *_metric("incident", "1 while a reported hang or crash stands.", *_standing(state)),
        *_metric("updated_timestamp_seconds", "When this file was written, since the epoch.", f"{state.now:.3f}"),
    ]
    if state.status is not None:
        lines += _metric("exit_status", "The job's exit status.", state.status)
    return "\n".join(lines) + "\n"


def _standing(state: JobState) -> tuple[int, str]:
    report = state.standing
    if report is None:
        return 0, ""
    first = next(iter(report.diagnoses), None)
    labels = {
        "outcome": report.outcome.value,
        "deadlock": report.deadlock.value,
        "code": first.code if first else "",
        "name": first.name if first else "",
        "culprits": str(first.culprits) if first else "",
    }
    return 1, "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _metric(name: str, said: str, value: object, labels: str = "", *, kind: str = "gauge") -> tuple[str, str, str]:
    full = f"ddpdoctor_{name}"
    return f"# HELP {full} {said}", f"# TYPE {full} {kind}", f"{full}{labels} {value}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
