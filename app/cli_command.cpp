// What the commands share: options, opening, errors, texts.
#include "app/cli_command.h"

#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

namespace fw {

void addCommon(CLI::App& app, CommonOptions& c, bool threads) {
    app.add_option("FILE", c.file, "a .pt2 archive, or FX graph text")->required();
    app.add_option("--model", c.model, "which model of an archive that holds several");
    app.add_flag("--json", c.json, "machine-readable output");
    app.add_flag("-q,--quiet", c.quiet, "no progress and no notes on stderr");
    app.add_option("-O,--option", c.options, "pass.option=value, or pass=off; may be repeated");
    if (threads) app.add_option("--threads", c.threads, "threads to run with")->check(CLI::Range(1, 1024));
}

int fail(const Error& e) {
    std::fprintf(stderr, "fusewright-cli: %s\n", e.line().c_str());
    return e.kind == ErrorKind::BadInput || e.kind == ErrorKind::Unsupported ? kBadInput : kFailure;
}

Progress stderrProgress(bool quiet) {
    Progress p;
    if (!quiet && isatty(2))
        p.report = [](double fraction, const std::string& what) {
            if (fraction < 0) std::fprintf(stderr, "\r\033[K%s ...", what.c_str());
            else std::fprintf(stderr, "\r\033[K%3.0f%% %s", 100 * fraction, what.c_str());
            if (fraction >= 1) std::fprintf(stderr, "\r\033[K");
        };
    return p;
}

Result<PassOptions> passOptions(const CommonOptions& c) {
    PassOptions out;
    for (const std::string& o : c.options) {
        const size_t eq = o.find('=');
        if (eq == std::string::npos) return badInput("the option '" + o + "' is not pass.option=value or pass=off");
        const std::string key = o.substr(0, eq), pass = key.substr(0, key.find('.'));
        const PassInfo* info = findPass(pass);
        if (!info) {
            std::string names;
            for (const PassInfo* p : allPasses()) names += (names.empty() ? "" : ", ") + std::string(p->name);
            return badInput("no pass is called '" + pass + "'; there are " + names);
        }
        if (const size_t dot = key.find('.'); dot != std::string::npos) {
            const std::string option = key.substr(dot + 1);
            bool known = option == "force" || option == "forbid";
            std::string names;
            for (const PassOption& p : info->options) {
                known |= p.name == option;
                names += (names.empty() ? "" : ", ") + std::string(p.name);
            }
            if (!known) return badInput("pass " + pass + " has no option '" + option + "'" + (names.empty() ? "" : "; it has " + names));
        }
        const std::string value = o.substr(eq + 1), option = key.find('.') == std::string::npos ? "" : key.substr(key.find('.') + 1);
        if (option.empty()) {
            if (value != "on" && value != "off") return badInput("a pass is switched on or off; '" + o + "' says neither");
            if (value == "off" && info->level == PassLevel::Lower) return badInput(pass + " is the only way from graph to loops; it cannot be switched off");
        } else if (option != "force" && option != "forbid") {
            if (value.empty() || value.size() > 15 || value.find_first_not_of("0123456789") != std::string::npos)
                return badInput("the option " + key + " takes a whole number, not '" + value + "'");
        }
        out[key] = value;
    }
    return out;
}

Result<OpenedModel> openModel(const CommonOptions& c) {
    OpenedModel m;
    FW_TRY(file, importFile(c.file, stderrProgress(c.quiet)));
    m.file = std::move(file);
    const ImportedModel* chosen = nullptr;
    std::string names;
    for (const ImportedModel& model : m.file.models) {
        names += (names.empty() ? "" : ", ") + model.name;
        if (c.model.empty() ? !chosen : model.name == c.model) chosen = &model;
    }
    if (!chosen) return badInput(m.file.models.empty() ? "holds no model" : "holds no model called '" + c.model + "'; it has " + names, c.file);
    m.graph = chosen->graph;
    m.name = chosen->name;
    if (!c.quiet) {
        for (const std::string& note : chosen->notes) std::fprintf(stderr, "note: %s\n", note.c_str());
        if (c.model.empty() && m.file.models.size() > 1) std::fprintf(stderr, "note: the file holds several models (%s); --model chooses one\n", names.c_str());
    }
    return m;
}

std::string durationText(double s) {
    if (s < 1e-3) return fmt::format("{:.1f} us", s * 1e6);
    if (s < 1) return fmt::format("{:.2f} ms", s * 1e3);
    return fmt::format("{:.2f} s", s);
}

std::string bytesText(double b) {
    if (b >= 1 << 30) return fmt::format("{:.2f} GiB", b / (1 << 30));
    if (b >= 1 << 20) return fmt::format("{:.2f} MiB", b / (1 << 20));
    if (b >= 1 << 10) return fmt::format("{:.1f} KiB", b / (1 << 10));
    return fmt::format("{:.0f} B", b);
}

}  // namespace fw
