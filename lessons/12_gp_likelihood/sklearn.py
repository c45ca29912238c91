"""Likelihood and gradient with scikit-learn on the CPU. The fit before it factors K too, but outside of the time that is measured.
https://scikit-learn.org/stable/modules/generated/sklearn.gaussian_process.GaussianProcessRegressor.html"""
import numpy
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, RationalQuadratic, WhiteKernel

IDEA = "sklearn log_marginal_likelihood(theta, eval_gradient=True)"


def refuse(case):
    return "scikit-learn computes in float64" if case.precision != "f64" else None


def kernel_of(case):
    if case.variant != "co2":
        lengths = case.length + case.length_step * numpy.arange(case.d)
        return ConstantKernel(case.variance) * RBF(lengths) + WhiteKernel(case.noise)
    return (ConstantKernel(4356) * RBF(67) + ConstantKernel(5.76) * RBF(90) * ExpSineSquared(length_scale=1.3, periodicity=1)
            + ConstantKernel(0.4356) * RationalQuadratic(alpha=0.78, length_scale=1.2) + ConstantKernel(0.0324) * RBF(0.134)
            + WhiteKernel(0.0361))


def allocate(case):
    return {"case": case}


def upload(state, arrays):
    case = state["case"]
    X, y = arrays
    X = numpy.ascontiguousarray(X.reshape(case.d, case.n).T)
    state["model"] = GaussianProcessRegressor(kernel_of(case), alpha=0, optimizer=None).fit(X, y.copy())


def run(state):
    model = state["model"]
    state["likelihood"], state["gradient"] = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True, clone_kernel=False)


def download(state):
    gradient = state["gradient"].copy()
    if state["case"].variant == "co2":
        gradient[[4, 5]] = gradient[[5, 4]]  # scikit-learn has the periodic's length first, then its period
    return numpy.array([state["likelihood"]]), gradient
