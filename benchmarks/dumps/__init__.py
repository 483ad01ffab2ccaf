"""Flight Recorder dumps of jobs that never ran: the real format, any number of ranks, a culprit that is known."""
