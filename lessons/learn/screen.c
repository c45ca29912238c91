#include "lessons/learn/screen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *colour(Colour c)
{
    static const char *const codes[] = { "\033[0m", "\033[32m", "\033[31m", "\033[2m", "\033[1m" };
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(1) && !(no && *no) && !(term && strcmp(term, "dumb") == 0) ? codes[c] : "";
}

void screen_bar(const Course *course, const Progress *p)
{
    enum { WIDTH = 40 };
    int passed = 0;
    for (int i = 0; i < course->exercises; i++) passed += p->exercise[i].passed;
    const int full = course->exercises ? WIDTH * passed / course->exercises : 0;
    printf("%s[", colour(GREEN));
    for (int i = 0; i < WIDTH; i++) putchar(i < full ? '#' : '.');
    printf("]%s %d of %d exercises\n", colour(PLAIN), passed, course->exercises);
}

void screen_list(const Course *course, const Progress *p)
{
    for (int l = 0; l < course->lessons; l++) {
        const CourseLesson *lesson = &course->lesson[l];
        int passed = 0;
        for (int i = lesson->first; i < lesson->first + lesson->count; i++) passed += p->exercise[i].passed;
        const bool done = lesson->count > 0 && passed == lesson->count;
        printf("%s%c%s %.2s  %-22s %s\n", colour(GREEN), done ? '*' : ' ', colour(PLAIN), lesson->id, lesson->title, lesson->question);
        for (int i = lesson->first; i < lesson->first + lesson->count; i++)
            printf("       %s%-20s%s %s\n", colour(p->exercise[i].passed ? GREEN : DIM), course->exercise[i].name, colour(PLAIN),
                   p->exercise[i].passed ? "passed" : "open");
    }
    screen_bar(course, p);
}

void screen_exercise(const Course *course, const CourseExercise *e)
{
    const CourseLesson *l = &course->lesson[e->lesson];
    char path[COURSE_PATH];
    progress_path(course, e, path);
    printf("%sLesson %.2s: %s%s\n%s\n\n", colour(BOLD), l->id, l->title, colour(PLAIN), l->question);
    printf("  read     lessons/%s/README.md   (or ./learn show %.2s)\n", l->id, l->id);
    printf("  task     %s\n", e->task);
    printf("  edit     %s\n", path);
    printf("  then     ./learn check, or ./learn watch to have it checked at every save; ./learn hint helps\n");
}

static void print_next_step(const Course *course, const CourseExercise *e, int hints)
{
    const int all = course_hints(course, e);
    if (hints < all) printf("\n%s./learn hint %s%s shows hint %d of %d.\n", colour(DIM), e->name, colour(PLAIN), hints + 1, all);
    else printf("\nAll hints are shown; ./learn solution %s shows one way.\n", e->name);
}

/* The first reason of several: the learner mends one thing at a time. */
static void print_first_reason(const char *why)
{
    const char *end = strstr(why, "; ");
    printf("  %.*s\n", end ? (int)(end - why) : (int)strlen(why), why);
}

static void print_advice(Criterion c)
{
    static const char *const advice[CRITERIA] = {
        [COMPILES] = "The compiler's first error comes first: the others often follow from it.",
        [CORRECT] = "Think of one thread: which element is its own, and what does it read?",
        [RACES] = "The numbers may be right here and wrong on the next card: put the threads in order, or give each its own element.",
        [BOUNDS] = "On a GPU this may go unnoticed, or stop the program much later: ask before every access whether the index exists.",
        [QUALITY] = "The answer is right. This is about how it was got.",
    };
    printf("  %s%s%s\n", colour(DIM), advice[c], colour(PLAIN));
}

void screen_result(const Course *course, const CourseExercise *e, const char *file, const CheckResult *r, int hints)
{
    printf("checked %s\n", file);
    if (r->outcome == PASSED) {
        printf("%spassed%s: %d sizes right, no races, nothing out of bounds%s\n", colour(GREEN), colour(PLAIN), r->cases,
               r->gpu_time_s > 0 ? "" : " (on the simulator)");
        printf("  %s, a call: kernels moved %.3g bytes", r->largest, r->diagnosis.moved_bytes / 2);
        if (r->gpu_time_s > 0) printf("; on the GPU %.3g ms, %.3g GB/s", r->gpu_time_s * 1e3, r->diagnosis.moved_bytes / 2 / r->gpu_time_s * 1e-9);
        printf("\n");
        for (int i = 0; i < r->diagnosis.findings; i++)
            if (!r->diagnosis.finding[i].error)
                printf("  %sby the way: %s: %s: %s%s\n", colour(DIM), r->diagnosis.finding[i].at, r->diagnosis.finding[i].kind, r->diagnosis.finding[i].text,
                       colour(PLAIN));
        return;
    }
    printf("%s%s%s", colour(RED), r->outcome == NOT_BUILT ? "does not compile" : r->outcome == TIMED_OUT ? "took too long" : "not yet", colour(PLAIN));
    if (r->outcome != NOT_BUILT) printf(": %d of %d sizes right", r->right, r->cases);
    printf("\n");
    // Out of bounds or a race is often why the numbers are wrong: the cause before the effect.
    static const Criterion order[] = { COMPILES, BOUNDS, RACES, CORRECT, QUALITY };
    for (int i = 0; i < CRITERIA; i++) {
        const Criterion c = order[i];
        if (!r->why[c][0] || strncmp(r->why[c], "counts from", 11) == 0) continue;
        print_first_reason(r->why[c]);
        if (c != CORRECT && c != COMPILES && r->why[CORRECT][0]) print_first_reason(r->why[CORRECT]);
        print_advice(c);
        break;
    }
    print_next_step(course, e, hints);
}
