"""Needs a module that nobody has."""
import gplab_module_that_nobody_has  # noqa: F401
