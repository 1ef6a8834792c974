"""Artefacts on the disk: written whole or not at all, read only when they are whole."""
