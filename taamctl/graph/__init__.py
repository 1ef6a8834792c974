"""Canonical graphs and the readers of raw layouts."""
