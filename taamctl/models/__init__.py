"""Backbones, modulators and heads."""
