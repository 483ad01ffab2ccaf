"""# DD315 timeouts-end-a-hang

## What
No variable keeps torch from ending a job that hangs, and none is set that torch does not read.

## Why it matters
With `TORCH_NCCL_ASYNC_ERROR_HANDLING=0` the watchdog ends nothing: a hang lasts until somebody looks. With
`TORCH_DEVICE_BACKEND_AUTOLOAD=0` torch loads no plug-ins, and ddpdoctor's probe is one. `NCCL_TIMEOUT` is read by nobody:
the timeout is an argument of `init_process_group`.

## Fix
    unset TORCH_NCCL_ASYNC_ERROR_HANDLING

## When it is wrong
A job with a watchdog of its own may want torch's off.

## References
https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, note, ok, warning
from ddpdoctor.checkup.machine import Machine

_ENDLESS = "torch's watchdog does not end a job that hangs"
#: variable -> its values that do harm, and which
VARIABLES = {
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": (("0",), _ENDLESS),
    "NCCL_ASYNC_ERROR_HANDLING": (("0",), _ENDLESS),
    "TORCH_NCCL_ENABLE_MONITORING": (("0",), "nobody notices that torch's watchdog itself hangs"),
    "TORCH_DEVICE_BACKEND_AUTOLOAD": (("0",), "torch does not load ddpdoctor's probe"),
}
NOT_READ = ("NCCL_TIMEOUT", "TORCH_NCCL_TIMEOUT", "NCCL_TIMEOUT_MS")

CHECK = Check("DD315", "timeouts-end-a-hang")


def judge(machine: Machine) -> Judgement:
    found = [(name, why) for name, (bad, why) in VARIABLES.items() if machine.environ.get(name, "").strip() in bad]
    ignored = [name for name in NOT_READ if name in machine.environ]
    if found:
        said = "; ".join(f"{name}={machine.environ[name]}: {why}" for name, why in found)
        return warning(said, f"unset {' '.join(name for name, _ in found)}")
    if ignored:
        said = f"{', '.join(ignored)} is read by nobody; the timeout is an argument of init_process_group"
        return note(said, "ddpdoctor watch --nccl-timeout 10m -- ...")
    return ok("no variable keeps torch from ending a hang")
