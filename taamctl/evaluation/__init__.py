"""Accuracy matrix and what is read off it, and cost: pure functions."""
