"""GP regression with GPyTorch's exact Cholesky path: hyperparameters given, mean zero, mean and variance of the latent function at m
points. Every run starts from X and y: with prediction_strategy gone, nothing of an earlier run is kept.
https://docs.gpytorch.ai/en/stable/examples/01_Exact_GPs/Simple_GP_Regression.html, settings.fast_computations"""
import gpytorch
import torch

torch.backends.cuda.matmul.allow_tf32 = False

IDEA = "gpytorch ExactGP with fast_computations off: Cholesky"
FRAMEWORK = "torch"


class Model(gpytorch.models.ExactGP):
    def __init__(self, X, y, likelihood):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def allocate(case):
    def empty(*shape):
        return torch.empty(*shape, dtype=getattr(torch, case.dtype), device="cuda")

    X, y, Z = empty(case.n, case.d), empty(case.n), empty(case.m, case.d)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.Positive())
    model = Model(X, y, likelihood).to(X.device, X.dtype)
    model.covar_module.outputscale = X.new_tensor(case.variance)  # a plain number would be rounded to float32
    model.covar_module.base_kernel.lengthscale = X.new_tensor(case.length)
    likelihood.noise = X.new_tensor(case.noise)
    model.requires_grad_(False)
    model.eval()
    return {"X": X, "y": y, "Z": Z, "model": model}


def upload(state, arrays):
    X, y, Z = (torch.from_numpy(host).cuda() for host in arrays)
    state["X"].copy_(X.view(state["X"].T.shape).T)
    state["y"].copy_(y)
    state["Z"].copy_(Z.view(state["Z"].T.shape).T)
    state["model"].set_train_data(state["X"], state["y"])


def run(state):
    model = state["model"]
    model.prediction_strategy = None
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.skip_posterior_variances(False):
        f = model(state["Z"])
        state["mean"], state["variance"] = f.mean, f.variance


def download(state):
    return state["mean"].cpu().numpy(), state["variance"].cpu().numpy()
