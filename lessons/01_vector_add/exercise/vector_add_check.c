#include "common/random.h"
#include "lessons/learn/exercise.h"

static void shape(ExerciseCase *c)
{
    static const char *const names[] = { "x", "y", "z" };
    c->arrays = 3;
    for (int i = 0; i < 3; i++)
        c->array[i] = (ExerciseArray){ .name = names[i], .type = F32, .direction = i < 2 ? IN : OUT, .memory = ON_HOST, .count = c->n[0] };
}

static void fill(const ExerciseCase *c, uint64_t seed, void *const *data)
{
    for (int i = 0; i < 2; i++) random_fill_f32(data[i], c->n[0], seed, (uint64_t)i, -1, 1);
}

/* One rounded addition: half a unit in the last place. */
static void expect(const ExerciseCase *c, void *const *data, double *const *expected, double *const *bound)
{
    const float *x = data[0], *y = data[1];
    for (size_t i = 0; i < c->n[0]; i++) {
        expected[2][i] = (double)x[i] + y[i];
        bound[2][i] = 0.5 * FLT_EPSILON * fabs(expected[2][i]) + FLT_TRUE_MIN;
    }
}

const Exercise exercise_vector_add = {
    .sizes = { { 0 }, { 1 }, { 2 }, { 3 }, { 31 }, { 32 }, { 33 }, { 255 }, { 256 }, { 257 }, { 1000 }, { 4099 }, { 100003 } },
    .cases = 13, .size_names = { "n" }, .shape = shape, .fill = fill, .expect = expect,
};
