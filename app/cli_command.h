// One file per command: cli_<command>.cpp adds its options to the parser and runs. What they share is here.
#pragma once
#include <string>

#include <CLI/CLI.hpp>

#include "core/import/import.h"
#include "core/profile/profile.h"

namespace fw {

/// Exit codes: 0 success, 1 a check failed or a run went wrong, 2 bad input.
enum ExitCode { kSuccess = 0, kFailure = 1, kBadInput = 2 };

struct CommonOptions {
    std::string file;
    std::string model;               ///< which model of an archive with several; empty: the first
    bool json = false;
    int threads = 1;
    std::vector<std::string> options;///< -O pass.option=value, -O pass=off
    bool quiet = false;
};
/// Adds FILE, --model, --json, -O and (when asked) --threads.
void addCommon(CLI::App&, CommonOptions&, bool threads);

/// Prints "fusewright-cli: <error>" on stderr and returns the exit code that fits its kind.
int fail(const Error&);
/// Progress lines on stderr (only when it is a terminal), or nothing.
Progress stderrProgress(bool quiet);
Result<PassOptions> passOptions(const CommonOptions&);

struct OpenedModel { ImportedFile file; GraphPtr graph; std::string name; };
/// Opens the file and picks the model; notes go to stderr.
Result<OpenedModel> openModel(const CommonOptions&);

/// "4.2 us", "13.1 ms", "2.40 s".
std::string durationText(double seconds);
std::string bytesText(double bytes);

// each returns the exit code; registered in cli_main.cpp
void addRun(CLI::App&, int& exitCode);
void addSteps(CLI::App&, int& exitCode);
void addDiff(CLI::App&, int& exitCode);
void addExplain(CLI::App&, int& exitCode);
void addProfile(CLI::App&, int& exitCode);
void addExport(CLI::App&, int& exitCode);
void addCheck(CLI::App&, int& exitCode);
void addCheckOps(CLI::App&, int& exitCode);
void addCheckOnnx(CLI::App&, int& exitCode);
void addShow(CLI::App&, int& exitCode);
void addBisect(CLI::App&, int& exitCode);
void addTour(CLI::App&, int& exitCode);

}  // namespace fw
