#define _GNU_SOURCE
#include "common/new_file.h"
#include "common/try.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_standard_output(const NewFile *n) { return strcmp(n->path, "-") == 0; }

GpStatus new_file_open(NewFile *n, const char *path)
{
    memset(n, 0, sizeof *n);
    if (strlen(path) >= sizeof n->path) return fail(GP_IO, "%.80s...: the path is too long", path);
    strcpy(n->path, path);
    if (is_standard_output(n)) {
        n->f = stdout;
        return GP_OK;
    }
    struct stat existing;
    if (stat(path, &existing) == 0 && !S_ISREG(existing.st_mode)) {   /* a device or a pipe is written, not replaced */
        n->f = S_ISDIR(existing.st_mode) ? NULL : fopen(path, "w");
        return n->f ? GP_OK : fail(GP_IO, "cannot write %s: %s", path, S_ISDIR(existing.st_mode) ? "it is a folder" : strerror(errno));
    }
    snprintf(n->temporary, sizeof n->temporary, "%s.XXXXXX", path);
    const int descriptor = mkstemp(n->temporary);
    if (descriptor < 0) {
        n->temporary[0] = '\0';
        return fail(GP_IO, "cannot write %s: %s", path, strerror(errno));
    }
    const mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(descriptor, 0666 & ~mask);   /* mkstemp's files are the user's alone */
    n->f = fdopen(descriptor, "w");
    if (n->f) return GP_OK;
    close(descriptor);
    new_file_drop(n);
    return fail(GP_IO, "cannot write %s: %s", path, strerror(errno));
}

GpStatus new_file_keep(NewFile *n)
{
    int good = n->f && !ferror(n->f);
    int reason = errno;
    if (n->f && fflush(n->f) != 0) {
        good = 0;
        reason = errno;
    }
    if (n->f && n->f != stdout && fclose(n->f) != 0) {
        good = 0;
        reason = errno;
    }
    n->f = NULL;
    if (good && n->temporary[0] && rename(n->temporary, n->path) != 0) {
        good = 0;
        reason = errno;
    }
    if (good) n->temporary[0] = '\0';
    else new_file_drop(n);
    return good ? GP_OK : fail(GP_IO, "cannot write %s: %s", is_standard_output(n) ? "the standard output" : n->path, strerror(reason));
}

void new_file_drop(NewFile *n)
{
    if (n->f && n->f != stdout) fclose(n->f);
    n->f = NULL;
    if (n->temporary[0]) (void)unlink(n->temporary);
    n->temporary[0] = '\0';
}
