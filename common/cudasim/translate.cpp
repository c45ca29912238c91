// CUDA C++ to C++: reads preprocessed source on standard input (g++ -E), writes what g++ can parse to standard output. After the preprocessor there
// are no comments, no macros and no inactive branches, headers have been read, and line markers keep every message pointing at the user's file.
// What C++ can't parse, or means something else to:
//   kernel<<<grid, block>>>(a, b)       a call of cudasim::launch (include/cudasim/launch.h)
//   __shared__ float t[32][33], s;      references into the memory of the block
//   extern __shared__ float s[];        a pointer to its dynamic part
//   __device__, __constant__ variables  a section of their own, so that the runtime knows their addresses
//   __global__, __device__ functions    ordinary ones: the words are dropped
// Nothing is reordered across lines. Exit code 1, with file and line, for what cudasim doesn't do.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

enum Kind { WORD, NUMBER, TEXT, MARK };   // TEXT: a string or character literal; MARK: one character of punctuation
struct Token { Kind kind; size_t begin, end; };

std::string source;
std::vector<Token> tokens;
struct Edit { size_t begin, end; std::string text; };
std::vector<Edit> edits;

// ---- reading ----

bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

size_t end_of_raw_string(size_t quote)
{
    const size_t open = source.find('(', quote);
    const std::string close = ")" + source.substr(quote + 1, open - quote - 1) + "\"";
    const size_t end = source.find(close, open);
    return end == std::string::npos ? source.size() : end + close.size();
}

size_t end_of_literal(size_t quote)
{
    size_t i = quote + 1;
    while (i < source.size() && source[i] != source[quote]) i += source[i] == '\\' ? 2 : 1;
    return i + 1;
}

void read_tokens()
{
    bool line_begins = true;
    for (size_t i = 0; i < source.size();) {
        const char c = source[i];
        size_t end = i + 1;
        if (c == '\n') {
            line_begins = true;
            i++;
            continue;
        }
        if (isspace((unsigned char)c)) { i++; continue; }
        if (c == '#' && line_begins) {   // a line marker or a pragma: stays as it is
            i = source.find('\n', i);
            if (i == std::string::npos) break;
            continue;
        }
        line_begins = false;
        if (isdigit((unsigned char)c)) {
            while (end < source.size() && (is_word_char(source[end]) || source[end] == '.' || source[end] == '\'')) end++;
            tokens.push_back({ NUMBER, i, end });
        } else if (is_word_char(c)) {
            while (end < source.size() && is_word_char(source[end])) end++;
            if (end < source.size() && source[end] == '"' && source[end - 1] == 'R' && end - i <= 3) {
                end = end_of_raw_string(end);
                tokens.push_back({ TEXT, i, end });
            } else tokens.push_back({ WORD, i, end });
        } else if (c == '"' || c == '\'') {
            end = end_of_literal(i);
            tokens.push_back({ TEXT, i, end });
        } else tokens.push_back({ MARK, i, end });
        i = end;
    }
}

std::string text_of(size_t t) { return source.substr(tokens[t].begin, tokens[t].end - tokens[t].begin); }
bool is(size_t t, const char *text)
{
    const size_t n = strlen(text);
    return t < tokens.size() && tokens[t].end - tokens[t].begin == n && source.compare(tokens[t].begin, n, text) == 0;
}

// Tokens t .. t + count are the character c without anything between: << and < may come apart in the preprocessor's output, so spaces may.
bool is_run(size_t t, char c, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (t + k >= tokens.size() || tokens[t + k].kind != MARK || source[tokens[t + k].begin] != c) return false;
    return true;
}

// Tokens from first to before `end` on one line, one space between.
std::string joined(size_t first, size_t end)
{
    std::string s;
    for (size_t t = first; t < end; t++) {
        const bool words = t > first && tokens[t].kind != MARK && tokens[t - 1].kind != MARK;
        s += (words ? " " : "") + text_of(t);
    }
    return s;
}

// The line breaks, with line markers, from offset `begin` to `end`: they survive what is replaced.
std::string breaks(size_t begin, size_t end)
{
    std::string s;
    for (size_t i = begin; i < end; i++) {
        if (source[i] != '\n') continue;
        s += '\n';
        if (i + 1 < end && source[i + 1] == '#') {
            const size_t stop = source.find('\n', i + 1);
            s += source.substr(i + 1, stop - i - 1);
            i = stop - 1;
        }
    }
    return s;
}

[[noreturn]] void refuse(size_t t, const std::string &why)
{
    size_t line = 1;
    std::string file = "?";
    for (size_t i = 0; i < tokens[t].begin;) {
        const size_t next = source.find('\n', i);
        if (next == std::string::npos || next >= tokens[t].begin) break;
        unsigned long number;
        char name[4096];
        if (source[i] == '#' && sscanf(source.c_str() + i, "# %lu \"%4095[^\"]\"", &number, name) == 2) {
            line = number;
            file = name;
        } else line++;
        i = next + 1;
    }
    fprintf(stderr, "%s:%zu: error: cudasim: %s\n", file.c_str(), line, why.c_str());
    exit(1);
}

void replace(size_t begin, size_t end, const std::string &text) { edits.push_back({ begin, end, text }); }
void drop(size_t first, size_t last) { replace(tokens[first].begin, tokens[last].end, breaks(tokens[first].begin, tokens[last].end)); }

// The token that closes the bracket at t.
size_t closing(size_t t)
{
    int depth = 0;
    for (size_t k = t; k < tokens.size(); k++) {
        if (is(k, "(") || is(k, "[") || is(k, "{")) depth++;
        if ((is(k, ")") || is(k, "]") || is(k, "}")) && --depth == 0) return k;
    }
    refuse(t, "a bracket is never closed");
}

// The token that opens the bracket closed at t.
size_t opening(size_t t)
{
    int depth = 0;
    for (size_t k = t + 1; k-- > 0;) {
        if (is(k, ")") || is(k, "]") || is(k, "}")) depth++;
        if ((is(k, "(") || is(k, "[") || is(k, "{")) && --depth == 0) return k;
    }
    refuse(t, "a bracket is never opened");
}

// The < that the > at t closes.
size_t opening_angle(size_t t)
{
    int depth = 0;
    for (size_t k = t + 1; k-- > 0;) {
        if (is(k, ")")) { k = opening(k); continue; }
        if (is(k, ">")) depth++;
        if (is(k, "<") && --depth == 0) return k;
    }
    refuse(t, "a > is never opened");
}

size_t closing_angle(size_t t)
{
    int depth = 0;
    for (size_t k = t; k < tokens.size(); k++) {
        if (is(k, "(")) { k = closing(k); continue; }
        if (is(k, "<")) depth++;
        if (is(k, ">") && --depth == 0) return k;
    }
    refuse(t, "a < is never closed");
}

// ---- launches ----

// First token of the expression that names the kernel and ends before t: name, ns::name<args>, s.pointer, (expression).
size_t kernel_begins(size_t t)
{
    size_t k = t;
    for (;;) {
        if (is(k - 1, ">")) k = opening_angle(k - 1);
        if (is(k - 1, ")") || is(k - 1, "]")) k = opening(k - 1);
        else k = k - 1;
        if (is(k, "[") || (is(k, "(") && tokens[k - 1].kind == WORD)) continue;   // s.kernels[i], choose(i)
        if (k >= 2 && is(k - 1, ":") && is(k - 2, ":")) {
            k -= 2;
            if (tokens[k - 1].kind != WORD && !is(k - 1, ">")) return k;   // ::name
            continue;
        }
        if (k >= 1 && is(k - 1, ".")) { k -= 1; continue; }
        if (k >= 2 && is(k - 1, ">") && is(k - 2, "-")) { k -= 2; continue; }
        return k;
    }
}

// A lone 0 may be a null pointer, and NULL always is one: as arguments of a template they would be numbers.
void mark_null(size_t first, size_t end, bool zero_too)
{
    if (end != first + 1) return;
    if (is(first, "__null")) replace(tokens[first].begin, tokens[first].end, "nullptr");
    else if (zero_too && is(first, "0")) replace(tokens[first].begin, tokens[first].end, "cudasim::Zero()");
}

void mark_nulls(size_t first, size_t end, bool zero_too)
{
    size_t begin = first;
    for (size_t k = first; k < end; k++) {
        if (is(k, "(") || is(k, "[") || is(k, "{")) { k = closing(k); continue; }
        if (!is(k, ",")) continue;
        mark_null(begin, k, zero_too);
        begin = k + 1;
    }
    mark_null(begin, end, zero_too);
}

size_t configuration_ends(size_t t)
{
    for (size_t k = t + 3; k < tokens.size(); k++) {
        if (is(k, "(") || is(k, "[") || is(k, "{")) k = closing(k);
        else if (is_run(k, '>', 3) && is(k + 3, "(")) return k;
    }
    refuse(t, "this <<< has no >>>( behind it");
}

void translate_launch(size_t t)
{
    const size_t name = kernel_begins(t), angles = configuration_ends(t), open = angles + 3, close = closing(open);
    const std::string kernel = joined(name, t);
    std::string label = kernel;
    for (char &c : label)
        if (c == '"' || c == '\\') c = '\'';
    replace(tokens[name].begin, tokens[t + 2].end, "cudasim::launch(\"" + label + "\", cudasim::Config(");
    mark_nulls(t + 3, angles, false);
    replace(tokens[angles].begin, tokens[open].end,
            "), [=](const auto &...cudasim_a) -> decltype(" + kernel + "(cudasim_a...)) { " + kernel + "(cudasim_a...); }" +
                (close == open + 1 ? "" : ", "));
    mark_nulls(open + 1, close, true);
}

// ---- shared memory ----

bool is_label_end(size_t t) { return is(t, ":") && !is(t + 1, ":") && !(t > 0 && is(t - 1, ":")); }

size_t statement_begins(size_t t)
{
    while (t > 0 && !is(t - 1, ";") && !is(t - 1, "{") && !is(t - 1, "}") && !is_label_end(t - 1)) t--;
    return t;
}

bool is_storage(size_t t) { return is(t, "extern") || is(t, "static") || is(t, "__shared__") || is(t, "__device__"); }

// Last token of an attribute that begins at t, or t - 1.
size_t attribute_ends(size_t t)
{
    if ((is(t, "__attribute__") || is(t, "alignas") || is(t, "__align__")) && is(t + 1, "(")) return closing(t + 1);
    return t - 1;
}

// The name that is declared from t on: the last word before [ , ; or =.
size_t declared_name(size_t t, size_t end)
{
    size_t name = end;
    for (; t < end; t++) {
        if (attribute_ends(t) + 1 > t) { t = attribute_ends(t); continue; }
        if (tokens[t].kind == WORD && is(t + 1, "<")) { t = closing_angle(t + 1); continue; }
        if (is(t, "[") || is(t, ",") || is(t, "=")) break;
        if (tokens[t].kind == WORD) name = t;
    }
    if (name == end) refuse(t, "this __shared__ variable has no name");
    return name;
}

// Rewrites the declaration around the __shared__ at t; gives its last token.
size_t translate_shared(size_t t, bool in_function)
{
    const size_t first = statement_begins(t);
    size_t end = t;
    while (end < tokens.size() && !is(end, ";")) end = is(end, "(") || is(end, "[") || is(end, "{") ? closing(end) + 1 : end + 1;
    bool dynamic = false;
    std::string type, text;
    size_t name = declared_name(t, end);
    for (size_t k = first; k < name; k++) {
        if (is(k, "extern")) dynamic = true;
        if (attribute_ends(k) + 1 > k) k = attribute_ends(k);
        else if (!is_storage(k)) type += text_of(k) + " ";
    }
    std::string base = type;
    while (!base.empty() && (base.back() == '*' || base.back() == ' ')) base.pop_back();
    while (name < end) {
        const std::string id = text_of(name);
        size_t dims = name + 1;
        while (is(dims, "[")) dims = closing(dims) + 1;
        if (is(dims, "=")) refuse(dims, "a __shared__ variable can't have an initial value");
        if (dynamic)
            text += in_function ? type + " *const " + id + " = (" + type + " *)cudasim_dynamic_shared(); "
                                : "static cudasim::Dynamic<" + type + "> " + id + "; ";
        else if (!in_function) text += "typedef " + type + id + "__type" + joined(name + 1, dims) + "; static cudasim::Shared<" + id + "__type> " + id + "; ";
        else
            text += "static const char " + id + "__tag = 0; typedef " + type + id + "__type" + joined(name + 1, dims) + "; " + id + "__type &" + id +
                    " = *(" + id + "__type *)cudasim_shared(&" + id + "__tag, sizeof(" + id + "__type), alignof(" + id + "__type)); ";
        if (!is(dims, ",")) break;
        type = base + " ";
        for (name = dims + 1; is(name, "*"); name++) type += "*";
    }
    replace(tokens[first].begin, tokens[end].end, text + breaks(tokens[first].begin, tokens[end].end));
    return end;
}

// ---- variables and functions of the device ----

// Whether what the word at t declares is a variable: it ends, or gets a value or dimensions, before any parenthesis.
bool declares_variable(size_t t)
{
    for (t++; t < tokens.size(); t++) {
        if (attribute_ends(t) + 1 > t) { t = attribute_ends(t); continue; }
        if (is(t, "__launch_bounds__") || is(t, "operator")) return false;
        if (tokens[t].kind == WORD && is(t + 1, "<")) { t = closing_angle(t + 1); continue; }
        if (is(t, "(") || is(t, "{")) return false;
        if (is(t, ";") || is(t, "=") || is(t, "[")) return true;
    }
    return false;
}

bool declares_constant(size_t t)
{
    for (size_t k = statement_begins(t); k < tokens.size() && !is(k, ";") && !is(k, "="); k++)
        if (is(k, "const") || is(k, "constexpr")) return true;
    return false;
}

void translate_variable(size_t t)
{
    const char *section = is(t, "__managed__") ? "cudasim_managed" : is(t, "__constant__") ? "cudasim_constant" : "cudasim_device";
    const bool second = is(t + 1, "__managed__") || (t > 0 && is(t - 1, "__managed__"));
    if (declares_constant(t) || (second && !is(t, "__managed__"))) drop(t, t);
    else replace(tokens[t].begin, tokens[t].end, std::string("__attribute__((section(\"") + section + "\")))");
}

// ---- all of it ----

enum Scope { NAMESPACE, CLASS, FUNCTION, KERNEL, OTHER };   // KERNEL: code of the device

Scope scope_of(size_t brace)
{
    const size_t first = statement_begins(brace);
    bool parenthesis = false, aggregate = false;
    for (size_t k = first; k < brace; k++) {
        if (is(k, "__global__") || is(k, "__device__")) return KERNEL;
        if (is(k, "namespace")) return NAMESPACE;
        if (is(k, "(")) parenthesis = true;
        if (!parenthesis && (is(k, "struct") || is(k, "class") || is(k, "union") || is(k, "enum"))) aggregate = true;
    }
    if (first < brace && is(first, "extern") && tokens[brace - 1].kind == TEXT) return NAMESPACE;
    return aggregate ? CLASS : parenthesis ? FUNCTION : OTHER;
}

bool inside(const std::vector<Scope> &scopes, Scope scope)
{
    for (Scope s : scopes)
        if (s == scope) return true;
    return false;
}

bool is_dropped(size_t t)
{
    static const char *const words[] = { "__global__", "__host__", "__device__", "__grid_constant__" };
    for (const char *w : words)
        if (is(t, w)) return true;
    return false;
}

void translate()
{
    std::vector<Scope> scopes;
    for (size_t t = 0; t < tokens.size(); t++) {
        if (is(t, "{")) scopes.push_back(scope_of(t));
        else if (is(t, "}")) { if (!scopes.empty()) scopes.pop_back(); }
        else if (is_run(t, '<', 3)) {
            if (inside(scopes, KERNEL)) refuse(t, "a launch inside a kernel (dynamic parallelism) is not supported; launch from the host");
            translate_launch(t);
            t += 2;
        } else if (tokens[t].kind != WORD || source[tokens[t].begin] != '_') continue;
        else if (is(t, "__shared__")) t = translate_shared(t, inside(scopes, FUNCTION) || inside(scopes, KERNEL));
        else if (is(t, "__constant__") || is(t, "__managed__")) translate_variable(t);
        else if (is(t, "__device__") && declares_variable(t)) translate_variable(t);
        else if (is_dropped(t)) drop(t, t);
        else if (is(t, "__launch_bounds__")) drop(t, closing(t + 1));
        else if (is(t, "__forceinline__")) replace(tokens[t].begin, tokens[t].end, "inline");
        else if (is(t, "__noinline__") && !is(t - 1, "(") && !is(t - 1, ",")) replace(tokens[t].begin, tokens[t].end, "__attribute__((noinline))");
        else if (is(t, "__cluster_dims__")) refuse(t, "clusters of blocks (__cluster_dims__) are not supported; use one block");
    }
}

bool read_source()
{
    char buffer[65536];
    size_t n;
    while ((n = fread(buffer, 1, sizeof buffer, stdin)) > 0) source.append(buffer, n);
    return !ferror(stdin);
}

// Edits may nest: a null argument lies between the pieces of its launch, never within one. In order, each begins behind the last.
bool write_result()
{
    for (size_t i = 1; i < edits.size(); i++)   // nearly sorted
        for (size_t k = i; k > 0 && edits[k].begin < edits[k - 1].begin; k--) std::swap(edits[k], edits[k - 1]);
    size_t at = 0;
    for (const Edit &e : edits) {
        if (e.begin < at) continue;   // inside what an earlier one replaced
        fwrite(source.data() + at, 1, e.begin - at, stdout);
        fwrite(e.text.data(), 1, e.text.size(), stdout);
        at = e.end;
    }
    fwrite(source.data() + at, 1, source.size() - at, stdout);
    return fflush(stdout) == 0;
}

} // namespace

int main()
{
    if (!read_source()) {
        fprintf(stderr, "cudasim: standard input can't be read\n");
        return 1;
    }
    read_tokens();
    translate();
    if (!write_result()) {
        fprintf(stderr, "cudasim: standard output can't be written\n");
        return 1;
    }
    return 0;
}
