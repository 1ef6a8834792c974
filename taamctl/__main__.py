"""Run the command line with `python -m taamctl`."""

from taamctl.cli.app import entry

entry()
