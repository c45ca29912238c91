/* Rounds over all cells. The first round goes through the sizes of each problem from small to large, so that a run too long
 * to wait for is foreseen from the size before it; later rounds are shuffled, so that a slow drift of the machine
 * spreads over all approaches instead of favouring one. Approaches of one group (same problem, variant, size and
 * precision) share inputs and references and take turns in random order. */
#define _GNU_SOURCE
#include "bench/measure.h"
#include "bench/statistics.h"
#include "bench/text.h"
#include "bench/visit.h"
#include "bench/worker.h"
#include "common/clock.h"
#include "common/memory.h"
#include "common/random.h"
#include "common/try.h"
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double ABOVE_ROOF_DEVICE = 1.10; /* a measured roof is itself uncertain by a few per cent ... */
static const double ABOVE_ROOF_HOST = 1.50;   /* ... and on a shared machine by much more */

MeasureOptions measure_defaults(int full)
{
    MeasureOptions o = { .full = full, .precisions = { 1, 1 }, .half_width = 0.01, .seed = 20261201, .first_calls = 1, .cold = 1 };
    for (int t = 0; t < TIMES; t++) o.times[t] = 1;
    o.rounds = full ? 3 : 2;
    o.visit_s = full ? 0.3 : 0.06;
    o.run_s = full ? 10 : 1;
    return o;
}

size_t last_level_cache(void)
{
    const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return l3 > 0 ? (size_t)l3 : l2 > 0 ? (size_t)l2 : 0;
}

/* ---- the plan ---- */

typedef struct { const Problem *problem; const char *name; Case c; } Group;

typedef struct {
    Cell name;           /* the cell's names and sizes, no samples                                      */
    double run_s;        /* one run as measured so far; 0 unknown                                       */
    int dead;            /* not to be visited: not asked for, of another problem, skipped or failed     */
} Planned;

typedef struct {
    Group *group;
    size_t groups, approaches;
    Planned *planned;    /* groups x approaches of the table */
} Plan;

static Planned *planned_at(const Plan *plan, size_t g, size_t i) { return &plan->planned[g * plan->approaches + i]; }

static void variant_name(const Problem *p, int variant, char *name, size_t size)
{
    snprintf(name, size, "%s", p->variants ? p->variants[variant] : "");
}

static int matches(const char *pattern, const char *text, int *yes)
{
    regex_t r;
    *yes = 1;
    if (!pattern) return 0;
    if (regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB)) return -1;
    *yes = regexec(&r, text, 0, NULL, 0) == 0;
    regfree(&r);
    return 0;
}

static int variant_count(const Problem *p)
{
    int count = 0;
    if (!p->variants) return 1;
    while (p->variants[count]) count++;
    return count;
}

/* Calls `add` for each group that the options ask for. */
static GpStatus each_group(const Session *s, GpStatus (*add)(Plan *, const Group *), Plan *plan)
{
    GpStatus status = GP_OK;
    for (size_t i = 0; i < s->table_count; i++) {
        const Registered *r = &s->table[i];
        int seen = 0;
        for (size_t j = 0; j < i; j++) seen |= s->table[j].definition == r->definition;
        if (seen) continue;
        for (int variant = 0; variant < variant_count(r->definition); variant++) {
            char name[96], v[32];
            int wanted = 0;
            variant_name(r->definition, variant, v, sizeof v);
            snprintf(name, sizeof name, "%s%s%s", r->problem, *v ? "/" : "", v);
            if (matches(s->options.problem_filter, name, &wanted) != 0)
                return fail(GP_BAD_ARGUMENT, "-f %s: not a regular expression", s->options.problem_filter);
            if (!wanted) continue;
            const size_t *sizes = s->options.size_count ? s->options.sizes : r->definition->sizes(variant, s->options.full);
            for (size_t k = 0; s->options.size_count ? k < s->options.size_count : sizes[k] != 0; k++)
                for (int p = 0; p < PRECISIONS; p++)
                    if (s->options.precisions[p]) {
                        const Group g = { r->definition, r->problem, { .n = sizes[k], .variant = variant, .precision = (Precision)p } };
                        TRY(add(plan, &g));
                    }
        }
    }
cleanup:
    return status;
}

static GpStatus count_group(Plan *plan, const Group *g)
{
    (void)g;
    plan->groups++;
    return GP_OK;
}

static GpStatus store_group(Plan *plan, const Group *g)
{
    plan->group[plan->groups++] = *g;
    return GP_OK;
}

static const char *where_name(const Registered *r)
{
    return r->approach->where == ON_HOST ? "cpu" : r->approach->where == ON_CUDA ? "cuda" : "worker";
}

/* A Python file says its idea once it was probed. */
static const char *idea_of(const Registered *r)
{
    const char *idea = r->approach == &bench_worker ? bench_worker_idea(r) : r->approach->idea;
    return idea ? idea : "";
}

static void name_cell(Cell *cell, const Group *g, const Registered *r)
{
    static const char *const roles[] = { "naive", "step", "optimized", "library" };
    *cell = (Cell){ .n = g->c.n };
    snprintf(cell->problem, sizeof cell->problem, "%s", g->name);
    variant_name(g->problem, g->c.variant, cell->variant, sizeof cell->variant);
    approach_name(r, cell->approach, sizeof cell->approach);
    snprintf(cell->file, sizeof cell->file, "%s", r->file);
    snprintf(cell->role, sizeof cell->role, "%s", roles[r->approach->role]);
    snprintf(cell->where, sizeof cell->where, "%s", where_name(r));
    snprintf(cell->precision, sizeof cell->precision, "%s", precision_name(g->c.precision));
    snprintf(cell->idea, sizeof cell->idea, "%s", idea_of(r));
}

static GpStatus make_plan(const Session *s, Plan *plan)
{
    GpStatus status = GP_OK;
    TRY(each_group(s, count_group, plan));
    if (plan->groups == 0) {
        status = fail(GP_BAD_ARGUMENT, "no problem matches -f %s; `bench list` names them",
                      s->options.problem_filter ? s->options.problem_filter : "");
        goto cleanup;
    }
    TRY(memory_alloc(&plan->group, plan->groups, sizeof *plan->group, "the plan"));
    TRY(memory_alloc(&plan->planned, plan->groups * s->table_count, sizeof *plan->planned, "the plan"));
    plan->approaches = s->table_count;
    plan->groups = 0;
    TRY(each_group(s, store_group, plan));
    size_t alive = 0;
    for (size_t g = 0; g < plan->groups; g++)
        for (size_t i = 0; i < s->table_count; i++) {
            const Registered *r = &s->table[i];
            Planned *planned = planned_at(plan, g, i);
            Cell *cell = &planned->name;
            int wanted = 0;
            if (r->definition == plan->group[g].problem) {
                name_cell(cell, &plan->group[g], r);
                if (matches(s->options.approach_filter, cell->approach, &wanted) != 0) {
                    status = fail(GP_BAD_ARGUMENT, "--approach %s: not a regular expression", s->options.approach_filter);
                    goto cleanup;
                }
                if (r->approach->role == STEP && !s->options.steps) wanted = 0;
            }
            planned->dead = !wanted;
            alive += wanted != 0;
        }
    if (alive == 0)
        status = fail(GP_BAD_ARGUMENT, "no approach matches --approach %s; `bench list` names them", s->options.approach_filter);
cleanup:
    return status;
}

static void plan_free(Plan *plan)
{
    memory_free(plan->group);
    memory_free(plan->planned);
}

/* ---- reasons not to run ---- */

static const RegisteredDevice *device_of(const Session *s, const Registered *r)
{
    for (size_t i = 0; i < s->device_count; i++)
        if (s->devices[i].device->where == r->approach->where) return &s->devices[i];
    return NULL;
}

static const char *cannot_run(const Session *s, const Registered *r)
{
    const RegisteredDevice *d = device_of(s, r);
    const char *why = r->approach->probe ? r->approach->probe(r) : NULL;
    if (why) return why;
    return d && d->device->unavailable ? d->device->unavailable() : NULL;
}

/* Seconds that one run will take, from the next smaller size that was measured; 0: nothing to go by. */
static double predicted_s(const Plan *plan, size_t g, size_t i, size_t *from_n, double *from_s)
{
    const Group *now = &plan->group[g];
    const Work work = now->problem->work(&now->c);
    double best = 0;
    *from_n = 0;
    for (size_t h = 0; h < plan->groups; h++) {
        const Group *before = &plan->group[h];
        const double run_s = planned_at(plan, h, i)->run_s;
        if (before->problem != now->problem || before->c.variant != now->c.variant || before->c.precision != now->c.precision) continue;
        if (before->c.n >= now->c.n || before->c.n <= *from_n || !(run_s > 0)) continue;
        const Work less = before->problem->work(&before->c);
        *from_n = before->c.n;
        *from_s = run_s;
        best = run_s * fmax(less.flops > 0 ? work.flops / less.flops : 0, work.bytes / less.bytes);
    }
    return best;
}

/* ---- one visit and its line ---- */

/* A rate above the ceiling of its device is a wrong time, unless the data stays in a cache. */
static void check_roof(const Session *s, Cell *cell)
{
    const int on_host = strcmp(cell->where, "cpu") == 0;
    const char *device = on_host ? "cpu" : "cuda", *matmul = strcmp(cell->precision, "f32") == 0 ? "matmul_f32" : "matmul_f64";
    double bytes_roof = 0, flops_roof = 0;
    if (strcmp(cell->where, "worker") == 0 || cell->state != CELL_OK) return;
    for (size_t i = 0; i < s->roof_count; i++) {
        const Roof *r = &s->roofs[i];
        if (strcmp(r->device, device) != 0) continue;
        if (strcmp(r->name, matmul) == 0) flops_roof = r->rate;
        else if (strncmp(r->name, "matmul", 6) != 0 && r->name[1] != '2' && r->rate > bytes_roof) bytes_roof = r->rate;
    }
    const Summary k = summarise(cell->times[TIME_KERNEL].value, cell->times[TIME_KERNEL].count);
    const double margin = on_host ? ABOVE_ROOF_HOST : ABOVE_ROOF_DEVICE;
    const double bytes = cell->work.bytes / k.median, flops = cell->work.flops / k.median;
    const int bytes_over = bytes_roof > 0 && bytes > margin * bytes_roof && !cell->fits_cache;
    const int flops_over = flops_roof > 0 && flops > margin * flops_roof;
    if (!bytes_over && !flops_over) return;
    cell->above_roof = 1;
    cell->state = CELL_FAILED;
    if (bytes_over)
        snprintf(cell->reason, sizeof cell->reason, "impossible time: %.3g GB/s where this machine's memory moves %.3g GB/s", bytes / 1e9,
                 bytes_roof / 1e9);
    else
        snprintf(cell->reason, sizeof cell->reason, "impossible time: %.3g GFLOP/s where this machine's matrix product reaches %.3g",
                 flops / 1e9, flops_roof / 1e9);
    for (int t = 0; t < TIMES; t++) {
        memory_free(cell->times[t].value);
        cell->times[t] = (Samples){ .value = NULL };
    }
}

/* The smallest size of its kind in the plan: where the first call is timed. */
static int smallest_size(const Plan *plan, size_t g)
{
    for (size_t h = 0; h < plan->groups; h++) {
        const Group *a = &plan->group[h], *b = &plan->group[g];
        if (a->problem == b->problem && a->c.variant == b->c.variant && a->c.precision == b->c.precision && a->c.n < b->c.n) return 0;
    }
    return 1;
}

/* A fresh process of this program measures it: `bench first FILE VARIANT PRECISION N SEED` prints seconds. */
static void time_first_call(const Session *s, const Registered *r, const Group *g, uint64_t seed, Cell *cell)
{
    char command[4096], line[64];
    double seconds = 0;
    if (!s->program || !s->options.first_calls || !s->options.times[TIME_FIRST] || cell->state != CELL_OK) return;
    snprintf(command, sizeof command, "timeout 120 '%s' first '%s' %d %s %zu %llu 2>/dev/null", s->program, r->file, g->c.variant,
             precision_name(g->c.precision), g->c.n, (unsigned long long)seed);
    FILE *f = popen(command, "r");
    if (!f) return;
    const int got = fgets(line, sizeof line, f) && sscanf(line, "%lf", &seconds) == 1;
    const int ended_well = pclose(f) == 0;
    if (got && ended_well && seconds > 0) (void)samples_add(&cell->times[TIME_FIRST], seconds);
}

typedef struct { size_t done, total; double started_s; int terminal, quiet; } Progress;

static void say(const Progress *p, const Cell *cell, int round)
{
    char name[80], kernel[32], rest[640];
    if (p->quiet) return;
    cell_problem(cell, name, sizeof name);
    const Summary k = summarise(cell->times[TIME_KERNEL].value, cell->times[TIME_KERNEL].count);
    text_time(k.median, kernel, sizeof kernel);
    if (cell->state == CELL_OK) snprintf(rest, sizeof rest, "%10s +-%.1f%%", kernel, 100 * relative_half_width(&k));
    else snprintf(rest, sizeof rest, "%s: %s", cell->state == CELL_FAILED ? "FAILED" : "skipped", cell->reason);
    const double elapsed = clock_s() - p->started_s, left = p->done ? elapsed / (double)p->done * (double)(p->total - p->done) : 0;
    char eta[32];
    if (left >= 60) snprintf(eta, sizeof eta, "%d min %02d s left", (int)left / 60, (int)left % 60);
    else snprintf(eta, sizeof eta, "%.0f s left", left);
    if (p->terminal)
        fprintf(stderr, "\r\033[K[%zu/%zu, %s] round %d  %s %s %s n=%zu  %.90s%s", p->done, p->total, eta, round + 1, name, cell->approach,
                cell->precision, cell->n, rest, cell->state == CELL_FAILED ? "\n" : "");
    else
        fprintf(stderr, "[%zu/%zu, %s] round %d  %s %s %s n=%zu  %s\n", p->done, p->total, eta, round + 1, name, cell->approach,
                cell->precision, cell->n, rest);
    fflush(stderr);
}

/* ---- groups and rounds ---- */

typedef struct { const Session *s; Plan *plan; Progress *progress; int round; size_t *failed; } Round;

/* Resuming: whether this round's visit is in the file already. What it found there serves as if it had been measured now. */
static int visited_before(Round *r, Planned *planned)
{
    const Cell *found = r->s->previous ? run_find(r->s->previous, &planned->name) : NULL;
    if (!found || found->round <= r->round) return 0;
    if (found->state == CELL_SKIPPED && r->s->retry_skipped) return 0;
    r->progress->done++;
    if (found->state == CELL_OK) {
        planned->run_s = summarise(found->times[TIME_KERNEL].value, found->times[TIME_KERNEL].count).median;
    } else {
        planned->dead = 1;
        r->progress->done += (size_t)(r->s->options.rounds - 1 - r->round);
    }
    return 1;
}

static GpStatus write_skip(const Round *r, Cell *line, CellState state, const char *reason)
{
    line->state = state;
    snprintf(line->reason, sizeof line->reason, "%s", reason);
    line->round = r->round;
    return results_write_cell(r->s->writer, line);
}

/* Refusals that need no inputs: missing code or device, an impossible n, a run too long. 1: the cell is settled. */
static GpStatus settle_without_running(const Round *r, size_t g, size_t i, int *settled)
{
    GpStatus status = GP_OK;
    const Session *s = r->s;
    const Group *group = &r->plan->group[g];
    Cell line = planned_at(r->plan, g, i)->name;
    char text[256];
    size_t from_n = 0;
    double from_s = 0;
    const char *why = cannot_run(s, &s->table[i]);
    if (!why && s->table[i].approach->run[group->c.precision] == NULL && !s->table[i].approach->timed_run)
        why = "has no version in this precision";
    if (!why && group->problem->refuse) why = group->problem->refuse(&group->c);
    if (!why && r->round == 0) {
        const double predicted = predicted_s(r->plan, g, i, &from_n, &from_s);
        if (predicted > s->options.run_s) {
            char would[32], took[32];
            text_time(predicted, would, sizeof would);
            text_time(from_s, took, sizeof took);
            snprintf(text, sizeof text, "one run would take about %s (%s at n = %zu); --max-run raises the limit of %g s", would, took,
                     from_n, s->options.run_s);
            why = text;
        }
    }
    *settled = why != NULL;
    if (!why) return GP_OK;
    line.work = (Work){ 0, 0 };
    line.error = NAN;
    line.tolerance = NAN;
    TRY(write_skip(r, &line, CELL_SKIPPED, why));
    r->progress->done++;
    say(r->progress, &line, r->round);
    r->progress->done += (size_t)(s->options.rounds - 1 - r->round);
cleanup:
    return status;
}

/* A waiting worker keeps memory that its framework has cached, and to start it again takes seconds: it ends when the device runs short. */
static void make_room(const Session *s)
{
    for (size_t i = 0; i < s->device_count; i++) {
        const Device *d = s->devices[i].device;
        DeviceFacts facts = { .memory_bytes = 0 };
        if (!d || !d->facts || (d->unavailable && d->unavailable()) || d->facts(&facts) != GP_OK) continue;
        if (facts.free_bytes < facts.memory_bytes / 2) bench_worker_stop_idle();
    }
}

static GpStatus visit_cell(Round *r, size_t g, size_t i, const Inputs *in, Pinned *pinned)
{
    GpStatus status = GP_OK;
    const Session *s = r->s;
    Planned *planned = planned_at(r->plan, g, i);
    Cell cell = planned->name;
    const RegisteredDevice *d = device_of(s, &s->table[i]);
    DeviceFacts facts = { .l2_bytes = 0 };
    int lost = 0;
    if (d && d->device->facts) TRY(d->device->facts(&facts));
    const VisitOptions o = { d ? d->device : NULL, d ? facts.l2_bytes : last_level_cache(), &s->options, s->cancelled };
    cell.round = r->round;
    snprintf(cell.idea, sizeof cell.idea, "%s", idea_of(&s->table[i]));
    visit(&cell, &s->table[i], in, pinned, &o, &lost);
    if (s->cancelled && *s->cancelled) { status = fail(GP_CANCELLED, "interrupted"); goto cleanup; }
    if (s->table[i].approach->where == ON_WORKER) make_room(s);
    check_roof(s, &cell);
    if (r->round == 0 && smallest_size(r->plan, g)) time_first_call(s, &s->table[i], &r->plan->group[g], s->options.seed, &cell);
    TRY(results_write_cell(s->writer, &cell));
    if (cell.state == CELL_OK) {
        planned->run_s = summarise(cell.times[TIME_KERNEL].value, cell.times[TIME_KERNEL].count).median;
    } else {
        planned->dead = 1;
        r->progress->done += (size_t)(s->options.rounds - 1 - r->round);
    }
    *r->failed += cell.state == CELL_FAILED;
    r->progress->done++;
    say(r->progress, &cell, r->round);
    if (lost) status = fail(GP_DEVICE, "%s made the device stop answering: %s", cell.file, cell.reason);
cleanup:
    cell_free(&cell);
    return status;
}

static GpStatus visit_group(Round *r, size_t g)
{
    GpStatus status = GP_OK;
    const Session *s = r->s;
    const Group *group = &r->plan->group[g];
    Inputs in = { .problem = NULL };
    Pinned pinned = { .device = NULL };
    size_t *order = NULL;
    const uint64_t base = random_bits(s->options.seed, 100 + (uint64_t)r->round, g);
    TRY(memory_alloc(&order, s->table_count, sizeof *order, "an order"));
    random_permutation(order, s->table_count, s->options.seed, 1000 + (uint64_t)r->round * 100000 + g);
    for (size_t k = 0; k < s->table_count; k++) {
        const size_t i = order[k];
        Planned *planned = planned_at(r->plan, g, i);
        if (planned->dead || visited_before(r, planned)) continue;
        TRY(settle_without_running(r, g, i, &planned->dead));
        if (planned->dead) continue;
        if (!in.problem) {
            const GpStatus made = inputs_create(&in, group->problem, group->name, &group->c, (const uint64_t[SETS]){ base, base + 1 });
            if (made != GP_OK) {
                in.problem = NULL;
                Cell line = planned->name;
                line.error = line.tolerance = NAN;
                planned->dead = 1;
                *r->failed += made != GP_NO_MEMORY;
                TRY(write_skip(r, &line, made == GP_NO_MEMORY ? CELL_SKIPPED : CELL_FAILED, gp_message()));
                r->progress->done += (size_t)(s->options.rounds - r->round);
                say(r->progress, &line, r->round);
                continue;
            }
        }
        TRY(visit_cell(r, g, i, &in, &pinned));
    }
cleanup:
    pinned_free(&pinned);
    if (in.problem) inputs_destroy(&in);
    memory_free(order);
    return status;
}

/* Which group comes k-th: round 0 goes through the plan in its own order (sizes ascending), later ones are shuffled. */
static void group_order(const Session *s, const Plan *plan, int round, size_t *order)
{
    random_permutation(order, plan->groups, s->options.seed, 7 + (uint64_t)round);
    for (size_t g = 0; round == 0 && g < plan->groups; g++) order[g] = g;
}

GpStatus measure(Session *s, size_t *failed)
{
    GpStatus status = GP_OK;
    Plan plan = { .group = NULL };
    Progress progress = { .started_s = clock_s(), .terminal = isatty(STDERR_FILENO), .quiet = s->quiet };
    size_t *order = NULL;
    *failed = 0;
    TRY(make_plan(s, &plan));
    TRY(memory_alloc(&order, plan.groups, sizeof *order, "an order"));
    for (size_t k = 0; k < plan.groups * s->table_count; k++) progress.total += plan.planned[k].dead ? 0 : (size_t)s->options.rounds;
    for (int round = 0; round < s->options.rounds; round++) {
        Round r = { s, &plan, &progress, round, failed };
        group_order(s, &plan, round, order);
        for (size_t k = 0; k < plan.groups; k++) TRY(visit_group(&r, order[k]));
    }
cleanup:
    if (progress.terminal && !progress.quiet) fprintf(stderr, "\r\033[K");
    memory_free(order);
    plan_free(&plan);
    return status;
}

void list_approaches(const Registered *table, size_t count)
{
    const char *problem = "";
    for (size_t i = 0; i < count; i++) {
        const Registered *r = &table[i];
        char name[64];
        if (strcmp(problem, r->problem) != 0) printf("%s%s: %s\n", i ? "\n" : "", r->problem, r->definition->title);
        problem = r->problem;
        approach_name(r, name, sizeof name);
        const char *why = r->approach->probe ? r->approach->probe(r) : NULL;
        printf("  %-16s %-44s %s%s\n", name, r->file, why ? "not here: " : "", why ? why : idea_of(r));
    }
}
