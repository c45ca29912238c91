"""C = A B with PyTorch (cuBLAS inside). The harness's matrices are column-major and PyTorch's row-major: what arrives is A', B', and
C' = B' A' is what goes back. float32 is float32 here: TF32 would be a row of its own.
https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html"""
import torch

torch.backends.cuda.matmul.allow_tf32 = False

IDEA = "torch.matmul, TF32 off"
FRAMEWORK = "torch"


def allocate(case):
    return [torch.empty(case.n, case.n, dtype=getattr(torch, case.dtype), device="cuda") for _ in "ABC"]


def upload(state, arrays):
    for tensor, host in zip(state, arrays):
        tensor.view(-1).copy_(torch.from_numpy(host))


def run(state):
    At, Bt, Ct = state
    torch.matmul(Bt, At, out=Ct)


def download(state):
    return state[2].cpu().numpy()
