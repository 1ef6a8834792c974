"""What an author of a method needs: its description, a place to start from, and the contract as
checks to run.
"""
