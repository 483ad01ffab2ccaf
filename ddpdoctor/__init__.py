"""ddpdoctor names the rank that broke a PyTorch distributed job, the line, the cause and the fix."""

__version__ = "0.2.0"
