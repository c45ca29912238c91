"""Named like the module that it uses, as a lesson's torch.py is."""
import colorsys


def allocate(case):
    return {}


def upload(state, arrays):
    pass


def run(state):
    colorsys.rgb_to_hsv(1, 1, 1)


def download(state):
    return []
