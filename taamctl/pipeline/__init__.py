"""Plans over several runs: which runs a published table needs, and where their artefacts lie."""
