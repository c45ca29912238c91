#!/usr/bin/env python3
"""The diabetes data of Efron, Hastie, Johnstone and Tibshirani (Least angle regression, Annals of Statistics 32, 2004: 442 patients, 10 columns),
as scikit-learn ships them, in a fixed split for regression.c; and what scikit-learn, and GPyTorch where it is installed, make of the same split.

    gp/examples/diabetes.py FOLDER"""
import os
import sys

import numpy
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

TRAIN = 342


def write(path, names, X, y):
    numpy.savetxt(path, numpy.column_stack([X, y]), fmt="%.17g", delimiter=",", header=",".join([*names, "target"]), comments="")


def report(name, likelihood, mean, variance, y):
    error = y - mean
    density = 0.5 * (numpy.log(2 * numpy.pi * variance) + error**2 / variance)
    print(f"{name:<14} {TRAIN} train, {len(y)} test: log marginal likelihood {likelihood:.4f}, RMSE {numpy.sqrt((error**2).mean()):.4f}, "
          f"negative log density {density.mean():.4f}")


def with_sklearn(X, y, Z, z):
    kernel = ConstantKernel(1) * RBF(numpy.ones(X.shape[1])) + WhiteKernel(1)
    model = GaussianProcessRegressor(kernel, alpha=0, normalize_y=True).fit(X, y)
    mean, deviation = model.predict(Z, return_std=True)  # with the white noise: of a new measurement
    report("scikit-learn", model.log_marginal_likelihood_value_, mean, deviation**2, z)


def with_gpytorch(X, y, Z, z):
    import gpytorch
    import torch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, X, y, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    centre, scale = y.mean(), y.std()
    X, Z, y = torch.tensor(X), torch.tensor(Z), torch.tensor((y - centre) / scale)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Model(X, y, likelihood).double()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    model.train()
    with gpytorch.settings.fast_computations(False, False, False):
        for _ in range(300):
            optimiser.zero_grad()
            loss = -mll(model(X), y)
            loss.backward()
            optimiser.step()
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            f = likelihood(model(Z))
    report("gpytorch", -loss.item() * len(y), f.mean.numpy() * scale + centre, f.variance.numpy() * scale**2, z)


def main():
    if len(sys.argv) != 2:
        sys.exit("diabetes.py: takes the folder to write train.csv and test.csv to")
    data = load_diabetes(scaled=False)
    order = numpy.random.default_rng(0).permutation(len(data.target))
    X, y = data.data[order], data.target[order]
    os.makedirs(sys.argv[1], exist_ok=True)
    write(os.path.join(sys.argv[1], "train.csv"), data.feature_names, X[:TRAIN], y[:TRAIN])
    write(os.path.join(sys.argv[1], "test.csv"), data.feature_names, X[TRAIN:], y[TRAIN:])
    mean, deviation = X[:TRAIN].mean(axis=0), X[:TRAIN].std(axis=0)
    X = (X - mean) / deviation
    parts = X[:TRAIN], y[:TRAIN], X[TRAIN:], y[TRAIN:]
    with_sklearn(*parts)
    try:
        with_gpytorch(*parts)
    except ImportError:
        print("gpytorch       is not installed")


main()
