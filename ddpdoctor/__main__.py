"""`python -m ddpdoctor`: the same program as the `ddpdoctor` script."""

from ddpdoctor.cli.main import entry

entry()
