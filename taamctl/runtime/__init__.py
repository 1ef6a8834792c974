"""What a stage touches outside: parameters, artefacts, locks, provenance, downloads."""
