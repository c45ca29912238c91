"""Likelihood and gradient with GPyTorch's exact Cholesky path: ExactMarginalLogLikelihood and its backward pass, which is one step of every
training loop. GPyTorch differentiates by raw parameters behind a softplus; the chain rule to logarithms is applied after the run.
https://docs.gpytorch.ai/en/stable/examples/01_Exact_GPs/Simple_GP_Regression.html, settings.fast_computations"""
import gpytorch
import torch

torch.backends.cuda.matmul.allow_tf32 = False

IDEA = "gpytorch ExactMarginalLogLikelihood, fast_computations off: Cholesky"
FRAMEWORK = "torch"


class Model(gpytorch.models.ExactGP):
    def __init__(self, X, y, likelihood):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def refuse(case):
    return "written for the synthetic data alone; ask for scikit-learn's row" if case.variant == "co2" else None


def allocate(case):
    def empty(*shape):
        return torch.empty(*shape, dtype=getattr(torch, case.dtype), device="cuda")

    X, y = empty(case.n, case.d), empty(case.n)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.Positive())
    model = Model(X, y, likelihood).to(X.device, X.dtype)
    lengths = case.length + case.length_step * torch.arange(case.d, dtype=torch.float64)
    model.covar_module.outputscale = X.new_tensor(case.variance)  # a plain number would be rounded to float32
    model.covar_module.base_kernel.lengthscale = lengths.to(X.device, X.dtype)
    likelihood.noise = X.new_tensor(case.noise)
    model.train()
    likelihood.train()
    return {"X": X, "y": y, "model": model, "mll": gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)}


def upload(state, arrays):
    X, y = (torch.from_numpy(host).cuda() for host in arrays)
    state["X"].copy_(X.view(state["X"].T.shape).T)
    state["y"].copy_(y)
    state["model"].set_train_data(state["X"], state["y"])


def run(state):
    model = state["model"]
    with gpytorch.settings.fast_computations(False, False, False):
        model.zero_grad()
        state["value"] = state["mll"](model(state["X"]), state["y"])
        state["value"].backward()


def download(state):
    n, kernel, likelihood = len(state["y"]), state["model"].covar_module, state["model"].likelihood

    def by_logarithm(value, raw):  # the softplus has the derivative sigmoid(raw)
        return (n * raw.grad / torch.sigmoid(raw.detach()) * value.detach()).reshape(-1)

    gradient = torch.cat([by_logarithm(kernel.outputscale, kernel.raw_outputscale),
                          by_logarithm(kernel.base_kernel.lengthscale, kernel.base_kernel.raw_lengthscale),
                          by_logarithm(likelihood.noise, likelihood.noise_covar.raw_noise)])
    return (n * state["value"].detach()).reshape(1).cpu().numpy(), gradient.cpu().numpy()
