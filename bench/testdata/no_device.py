"""Everything is installed, but the machine lacks the device."""


def unavailable():
    return "the toaster sees no bread"


def allocate(case):
    return {}


upload = run = download = allocate
