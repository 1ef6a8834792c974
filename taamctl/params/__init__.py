"""params.yaml: read, checked, and bound to typed sections."""
