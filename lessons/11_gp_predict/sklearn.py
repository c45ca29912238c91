"""GP regression with scikit-learn on the CPU: hyperparameters given, mean and variance of the latent function at m points. fit also
computes the likelihood, with a factorisation of its own; there is no way around it.
https://scikit-learn.org/stable/modules/generated/sklearn.gaussian_process.GaussianProcessRegressor.html"""
import numpy
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

IDEA = "sklearn GaussianProcessRegressor, fit and predict on the CPU"


def refuse(case):
    return "scikit-learn computes in float64" if case.precision != "f64" else None


def allocate(case):
    return {"case": case}


def upload(state, arrays):
    case = state["case"]
    X, y, Z = arrays
    state["X"] = numpy.ascontiguousarray(X.reshape(case.d, case.n).T)
    state["y"] = y.copy()
    state["Z"] = numpy.ascontiguousarray(Z.reshape(case.d, case.m).T)


def run(state):
    case = state["case"]
    kernel = ConstantKernel(case.variance) * RBF(case.length)
    model = GaussianProcessRegressor(kernel, alpha=case.noise, optimizer=None).fit(state["X"], state["y"])
    state["mean"], state["deviation"] = model.predict(state["Z"], return_std=True)


def download(state):
    return state["mean"], state["deviation"] ** 2
