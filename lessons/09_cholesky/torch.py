"""A = L L' with PyTorch (cuSOLVER inside). A is symmetric, so row-major or column-major is the same; L goes back as L', whose rows are
L's columns. https://docs.pytorch.org/docs/stable/generated/torch.linalg.cholesky.html"""
import torch

IDEA = "torch.linalg.cholesky"
FRAMEWORK = "torch"


def allocate(case):
    return {"A": torch.empty(case.n, case.n, dtype=getattr(torch, case.dtype), device="cuda")}


def upload(state, arrays):
    state["A"].view(-1).copy_(torch.from_numpy(arrays[0]))


def run(state):
    state["L"] = None  # its memory may be used again
    state["L"] = torch.linalg.cholesky(state["A"])


def download(state):
    return state["L"].T.cpu().numpy()
