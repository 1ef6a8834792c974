"""One continual method per file."""
