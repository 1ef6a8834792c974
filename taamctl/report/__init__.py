"""Collect evaluations, render tables, draw pictures."""
