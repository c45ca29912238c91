"""The sum of n numbers with PyTorch. The result stays on the device until the download.
https://docs.pytorch.org/docs/stable/generated/torch.sum.html"""
import torch

IDEA = "torch.sum"
FRAMEWORK = "torch"


def allocate(case):
    return {"x": torch.empty(case.n, dtype=getattr(torch, case.dtype), device="cuda")}


def upload(state, arrays):
    state["x"].copy_(torch.from_numpy(arrays[0]))


def run(state):
    state["sum"] = torch.sum(state["x"])


def download(state):
    return state["sum"].cpu().numpy()
