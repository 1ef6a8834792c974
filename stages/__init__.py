"""One module per pipeline stage: read artefacts and parameters, call pure functions, write
artefacts.
"""
