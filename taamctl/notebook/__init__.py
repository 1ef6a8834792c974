"""What Python code and notebooks use: `import taamctl` offers all of it."""
