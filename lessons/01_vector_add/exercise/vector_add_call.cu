#include "lessons/learn/call.h"

void vector_add(const float *x, const float *y, float *z, int n);

void exercise_call(const Call *c) { vector_add(floats(c, 0), floats(c, 1), floats(c, 2), (int)c->n[0]); }
