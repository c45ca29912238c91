// Findings, kept until the program ends, and the places they speak of. Addresses of code become file and line by addr2line, all in one call: inlined
// calls count as where the user wrote them, so the first line that is not in cudasim's own headers is meant.
#include "sim.h"
#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <dlfcn.h>
#include <unistd.h>

namespace sim {

struct Finding { Severity severity; const char *kind; const void *at, *other; std::string text; uint64_t count; };
typedef std::pair<const char *, std::pair<const void *, const void *>> Key;
static std::map<Key, size_t> index_of;
static std::vector<Finding> findings;
static std::mutex lock;

static Key key_of(const char *kind, const void *at, const void *other) { return { kind, { at, other } }; }

static bool is_known(const char *kind, const void *at, const void *other)
{
    static const char *last_kind;
    static const void *last_at, *last_other;
    static Finding *last;
    if (last && kind == last_kind && at == last_at && other == last_other && last >= findings.data() && last < findings.data() + findings.size()) {
        last->count++;
        return true;
    }
    const auto found = index_of.find(key_of(kind, at, other));
    if (found == index_of.end()) return false;
    last = &findings[found->second];
    last_kind = kind;
    last_at = at;
    last_other = other;
    last->count++;
    return true;
}

bool known(const char *kind, const void *at, const void *other)
{
    const std::lock_guard<std::mutex> guard(lock);
    return is_known(kind, at, other);
}

void report(Severity severity, const char *kind, const void *at, const void *other, const std::string &text)
{
    const std::lock_guard<std::mutex> guard(lock);
    if (is_known(kind, at, other)) return;
    index_of[key_of(kind, at, other)] = findings.size();
    findings.push_back({ severity, kind, at, other, text, 1 });
}

std::string who(const Worker *w, int t)
{
    const uint3 i = w->thread[t].index;
    const dim3 &g = w->launch->grid;
    char s[128];
    snprintf(s, sizeof s, "thread (%u,%u,%u) of block (%u,%u,%u)", i.x, i.y, i.z, (unsigned)(w->block % g.x), (unsigned)(w->block / g.x % g.y),
             (unsigned)(w->block / g.x / g.y));
    return s;
}

// ---- addresses to lines ----

// In a text: \1 address \2.
std::string place(const void *at)
{
    char s[32];
    snprintf(s, sizeof s, "\1%zx\2", (size_t)at);
    return s;
}

static std::map<size_t, std::vector<std::string>> lines;   // of each address: the chain of calls, innermost first

static std::string without_folder(const std::string &line)
{
    char cwd[4096];
    const std::string here = getcwd(cwd, sizeof cwd) ? std::string(cwd) + "/" : "";
    std::string s = line;
    if (!here.empty() && s.compare(0, here.size(), here) == 0) s = s.substr(here.size());
    return s.compare(0, 2, "./") == 0 ? s.substr(2) : s;
}

// addr2line wants addresses as the file has them: of a program or library that may lie anywhere, its begin is taken off.
static bool is_relocatable(const char *file)
{
    unsigned char header[18] = {};
    FILE *f = fopen(file, "rb");
    const bool read = f && fread(header, sizeof header, 1, f) == 1;
    if (f) fclose(f);
    return read && (header[16] | header[17] << 8) == 3;   // ET_DYN
}

// "file:12 (discriminator 3)": one of several pieces of code of one line.
static std::string without_discriminator(const std::string &line) { return line.substr(0, line.find(" (discriminator")); }

static void ask_about(const std::string &file, const std::vector<size_t> &addresses, size_t base)
{
    std::string command = "addr2line -a -i -e '" + file + "'";
    for (size_t a : addresses) {
        char s[32];
        snprintf(s, sizeof s, " 0x%zx", a - base - 1);   // the call, not what comes after it
        command += s;
    }
    FILE *f = popen((command + " 2>/dev/null").c_str(), "r");
    char line[8192];
    size_t next = 0;
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "0x", 2) == 0 && !strchr(line, ':')) next++;   // the next address
        else if (next > 0 && next <= addresses.size()) lines[addresses[next - 1]].push_back(without_discriminator(line));
    }
    if (f) pclose(f);
}

static void ask_addr2line(const std::set<size_t> &addresses)
{
    enum { AT_A_TIME = 1000 };   // a command line is not endless
    struct Module { size_t base; std::vector<size_t> addresses; };
    std::map<std::string, Module> modules;
    for (size_t a : addresses) {
        Dl_info i;
        char exe[4096];
        if (!dladdr((void *)a, &i) || !i.dli_fname) continue;
        const ssize_t n = strchr(i.dli_fname, '/') ? -1 : readlink("/proc/self/exe", exe, sizeof exe - 1);
        const std::string file = n > 0 ? std::string(exe, (size_t)n) : i.dli_fname;
        if (!modules.count(file)) modules[file].base = is_relocatable(file.c_str()) ? (size_t)i.dli_fbase : 0;
        Module &m = modules[file];
        m.addresses.push_back(a);
        if (m.addresses.size() == AT_A_TIME) {
            ask_about(file, m.addresses, m.base);
            m.addresses.clear();
        }
    }
    for (const auto &m : modules)
        if (!m.second.addresses.empty()) ask_about(m.first, m.second.addresses, m.second.base);
}

static bool is_ours(const std::string &line) { return line.find("cudasim/include/") != std::string::npos; }

static std::string line_of(size_t address)
{
    const auto found = lines.find(address);
    if (found != lines.end())
        for (const std::string &l : found->second)
            if (!is_ours(l) && l[0] != '?') return without_folder(l);
    return "unknown place";
}

bool same_place(const void *a, const void *b)
{
    const std::lock_guard<std::mutex> guard(lock);
    std::set<size_t> ask;
    for (const void *p : { a, b })
        if (!lines.count((size_t)p)) ask.insert((size_t)p);
    ask_addr2line(ask);
    return lines[(size_t)a] == lines[(size_t)b];
}

static void collect(const std::string &text, std::set<size_t> *out)
{
    for (size_t i = 0; (i = text.find('\1', i)) != std::string::npos; i++) {
        const size_t a = strtoull(text.c_str() + i + 1, NULL, 16);
        if (a && !lines.count(a)) out->insert(a);
    }
}

static std::string filled_in(const std::string &text)
{
    std::string s;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '\1') { s += text[i]; continue; }
        s += line_of(strtoull(text.c_str() + i + 1, NULL, 16));
        i = text.find('\2', i);
    }
    return s;
}

std::string resolved(const std::string &text)
{
    std::set<size_t> ask;
    collect(text, &ask);
    ask_addr2line(ask);
    return filled_in(text);
}

// ---- writing ----

struct Line { Severity severity; std::string kind, at, text; uint64_t count; };



// Findings at other addresses of the same lines (unrolled loops, instances of a template) are one.
static std::vector<Line> merged()
{
    std::set<size_t> ask;
    for (const Finding &f : findings) {
        collect(f.text, &ask);
        for (const void *p : { f.at, f.other })
            if (p && !lines.count((size_t)p)) ask.insert((size_t)p);
    }
    ask_addr2line(ask);
    std::vector<Line> out;
    std::map<std::string, size_t> seen;
    for (const Finding &f : findings) {
        const std::string at = line_of((size_t)f.at), other = f.other ? line_of((size_t)f.other) : "";
        const std::string key = std::string(f.kind) + "|" + at + "|" + other;
        const auto found = seen.find(key);
        if (found != seen.end()) { out[found->second].count += f.count; continue; }
        seen[key] = out.size();
        out.push_back({ f.severity, f.kind, at, filled_in(f.text), f.count });
    }
    std::stable_sort(out.begin(), out.end(), [](const Line &a, const Line &b) { return a.severity < b.severity; });
    return out;
}

std::string quoted(const std::string &s)
{
    std::string q = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') q += '\\';
        if ((unsigned char)c >= 32) q += c;
    }
    return q + "\"";
}

static const char *const severities[] = { "error", "warning", "hint" };

static void write_json(FILE *out, const std::vector<Line> &all)
{
    fprintf(out, "{\"card\": %s, \"seed\": %llu, \"findings\": [", quoted(card().key).c_str(), (unsigned long long)settings().seed);
    for (size_t i = 0; i < all.size(); i++) {
        const size_t colon = all[i].at.rfind(':');
        const bool known = colon != std::string::npos;
        fprintf(out, "%s\n  {\"severity\": \"%s\", \"kind\": %s, \"file\": %s, \"line\": %d, \"count\": %llu, \"text\": %s}", i ? "," : "",
                severities[all[i].severity], quoted(all[i].kind).c_str(), quoted(known ? all[i].at.substr(0, colon) : all[i].at).c_str(),
                known ? atoi(all[i].at.c_str() + colon + 1) : 0, (unsigned long long)all[i].count, quoted(all[i].text).c_str());
    }
    fprintf(out, "],\n \"kernels\": [%s]}\n", resolved(counters_json()).c_str());
}

static void write_text(FILE *out, const std::vector<Line> &all, bool counts)
{
    for (const Line &l : all) {
        fprintf(out, "cudasim: %s: %s: %s: %s", l.at.c_str(), severities[l.severity], l.kind.c_str(), l.text.c_str());
        if (l.count > 1) fprintf(out, " (%llu times)", (unsigned long long)l.count);
        fprintf(out, "\n");
    }
    if (counts) fprintf(out, "%s", resolved(counters_text()).c_str());
    if (counts && all.empty()) fprintf(out, "cudasim: nothing found\n");
}

static void finish(bool crashed)
{
    static bool done = false;
    if (done) return;
    done = true;
    worker = NULL;
    if (diagnosing && !crashed && !is_broken()) memory_report();   // after a crash nothing can be freed
    if (!crashed) report_unchecked_launch();
    find_slow();
    const std::vector<Line> all = merged();
    FILE *out = settings().output ? fopen(settings().output, "w") : stderr;
    if (!out) {
        fprintf(stderr, "cudasim: can't write %s\n", settings().output);
        out = stderr;
    }
    fflush(stdout);
    if (strcmp(settings().report, "json") == 0) write_json(out, all);
    else write_text(out, all, strcmp(settings().report, "text") == 0);
    fflush(out);
}

bool has_errors()
{
    return std::any_of(findings.begin(), findings.end(), [](const Finding &f) { return f.severity == ERROR; });
}

static void finish_at_exit()
{
    finish(false);
    if (has_errors()) _exit(3);   // whatever the program thought of itself
}

static void finish_in_crash(int signal)
{
    if (worker && worker->in_kernel && !diagnosing)
        fprintf(stderr, "cudasim: a thread of %s used an address that no kernel may use; run it diagnosed to see where\n", worker->launch->work->name);
    finish(true);
    std::signal(signal, SIG_DFL);
    raise(signal);
}

// With the first use of the device: after static objects are made, so that the report is written before they are gone.
void begin_report(void)
{
    static bool begun = false;
    if (begun) return;
    begun = true;
    atexit(finish_at_exit);
    for (int s : { SIGSEGV, SIGBUS, SIGABRT, SIGFPE }) {
        struct sigaction a = {};
        static unsigned char stack[1 << 16];
        const stack_t alternative = { stack, 0, sizeof stack };
        sigaltstack(&alternative, NULL);   // the stack of a thread may be what overflowed
        a.sa_handler = finish_in_crash;
        a.sa_flags = SA_ONSTACK | SA_NODEFER;
        sigaction(s, &a, NULL);
    }
}

} // namespace sim
