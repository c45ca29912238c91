"""The sum of n numbers with CuPy, which takes CUB's reduction where it can. The result stays on the device until the download.
https://docs.cupy.dev/en/stable/reference/generated/cupy.sum.html"""
import cupy

IDEA = "x.sum() of a CuPy array"
FRAMEWORK = "cupy"


def allocate(case):
    return {"x": cupy.empty(case.n, dtype=case.dtype)}


def upload(state, arrays):
    state["x"].set(arrays[0])


def run(state):
    state["sum"] = state["x"].sum()


def download(state):
    return state["sum"].get()
