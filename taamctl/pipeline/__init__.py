"""What goes over several stages: the lens, the audit, own graphs and folders, and the runs that
a published table needs.
"""
