"""Propagation, hop means and task profiles."""
