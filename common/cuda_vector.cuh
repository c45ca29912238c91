// Vector<Real>::Type is 16 bytes of float or double: what a thread moves with one load or store.
#pragma once
#include <cuda_runtime.h>

template <typename Real> struct Vector;
template <> struct Vector<float> { typedef float4 Type; };
template <> struct Vector<double> { typedef double2 Type; };
