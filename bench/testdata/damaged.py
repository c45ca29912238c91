"""Not Python."""
def allocate(case:
