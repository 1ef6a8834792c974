"""Which task does a query belong to?"""
