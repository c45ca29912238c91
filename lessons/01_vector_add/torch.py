"""c = a + b with PyTorch: one kernel into a tensor that is already there, so 3n elements move, as in a kernel of one's own.
https://docs.pytorch.org/docs/stable/generated/torch.add.html"""
import torch

IDEA = "torch.add into a tensor that is already there"
FRAMEWORK = "torch"


def allocate(case):
    return [torch.empty(case.n, dtype=getattr(torch, case.dtype), device="cuda") for _ in "abc"]


def upload(state, arrays):
    for tensor, host in zip(state, arrays):
        tensor.copy_(torch.from_numpy(host))


def run(state):
    a, b, c = state
    torch.add(a, b, out=c)


def download(state):
    return state[2].cpu().numpy()
