"""Synthetic Flight Recorder dumps in the real format, for any number of ranks, with a known culprit."""
