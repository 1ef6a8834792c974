"""A model that grows: a folder with one small file per learned task, and predictions from it for
nodes of unsorted graphs.
"""
