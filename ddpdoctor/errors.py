"""Errors for the user: each carries what to do next and the exit status.

    DoctorError                 125  ddpdoctor itself failed
    ├── UsageError                2  the command line cannot be used
    ├── InputError                2  a file or folder that was given cannot be used
    ├── CommandNotExecutable    126  the wrapped command exists but cannot be started
    └── CommandNotFound         127  the wrapped command does not exist

Only `ddpdoctor.cli` prints these or exits.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit statuses of every command; `watch` passes its child's own status through."""

    OK = 0
    #: lint reported a finding, diagnose a diagnosis, or a repro case did not behave as expected
    FOUND = 1
    USAGE = 2
    #: a hang was found and `--on-hang stop` ended the job (as GNU timeout does)
    HANG_STOPPED = 124
    INTERNAL = 125
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127


class DoctorError(Exception):
    """An error that one line can explain; `hint` says what to do about it."""

    exit_code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(DoctorError):
    exit_code = ExitCode.USAGE


class InputError(DoctorError):
    exit_code = ExitCode.USAGE


class CommandNotExecutable(DoctorError):
    exit_code = ExitCode.NOT_EXECUTABLE


class CommandNotFound(DoctorError):
    exit_code = ExitCode.NOT_FOUND
