#include "lessons/learn/diagnosis.h"
#include "common/try.h"
#include "lessons/learn/course.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const cJSON *o, const char *key)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return s ? s : "";
}

static double number_of(const cJSON *o, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "/tmp/x/sum.cu:7" becomes "sum.cu:7". */
static void leave_out(char *text, const char *folder)
{
    const size_t n = strlen(folder);
    for (char *p = text; n && (p = strstr(p, folder));) memmove(p, p + n, strlen(p + n) + 1);
}

GpStatus diagnosis_read(Diagnosis *d, const char *path, const char *folder)
{
    const cJSON *o;
    char *text = read_text(path);
    memset(d, 0, sizeof *d);
    if (!text) return GP_IO;
    cJSON *json = text[0] ? cJSON_Parse(text) : NULL;
    const bool empty = !text[0];
    free(text);
    if (empty) return GP_OK;
    if (!json) return fail(GP_BAD_DATA, "the simulator's report is damaged");
    d->complete = true;
    cJSON_ArrayForEach(o, cJSON_GetObjectItemCaseSensitive(json, "findings")) {
        if (d->findings == DIAGNOSIS_FINDINGS) break;
        Finding *f = &d->finding[d->findings++];
        snprintf(f->kind, sizeof f->kind, "%s", text_of(o, "kind"));
        snprintf(f->at, sizeof f->at, "%s:%d", file_name(text_of(o, "file")), (int)number_of(o, "line"));
        snprintf(f->text, sizeof f->text, "%s", text_of(o, "text"));
        leave_out(f->text, folder);
        f->error = strcmp(text_of(o, "severity"), "error") == 0;
    }
    cJSON_ArrayForEach(o, cJSON_GetObjectItemCaseSensitive(json, "kernels")) {
        d->launches += number_of(o, "launches");
        d->read_bytes += number_of(o, "read_bytes");
        d->written_bytes += number_of(o, "written_bytes");
        d->moved_bytes += number_of(o, "moved_bytes");
    }
    cJSON_Delete(json);
    return GP_OK;
}
