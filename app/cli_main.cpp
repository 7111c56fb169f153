// fusewright-cli: every command of the workbench for the terminal, tests and machines.
#include <clocale>
#include <cstdio>
#include <new>

#include "app/app_registry.h"
#include "app/cli_command.h"

int main(int argc, char** argv) {
    std::setlocale(LC_NUMERIC, "C");
    CLI::App app{"Fusewright: take a captured model graph through the torch.compile pipeline, step by step, and see why.", "fusewright-cli"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "fusewright 0.1.0");
    app.footer("Exit status: 0 success, 1 a check or a run failed, 2 bad input. Every command takes --json.");
    int exitCode = fw::kSuccess;
    fw::registerEverything();
    fw::addTour(app, exitCode);
    fw::addShow(app, exitCode);
    fw::addRun(app, exitCode);
    fw::addSteps(app, exitCode);
    fw::addDiff(app, exitCode);
    fw::addExplain(app, exitCode);
    fw::addProfile(app, exitCode);
    fw::addBisect(app, exitCode);
    fw::addExport(app, exitCode);
    fw::addCheck(app, exitCode);
    fw::addCheckOps(app, exitCode);
    fw::addCheckOnnx(app, exitCode);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return app.exit(e);
        std::fprintf(stderr, "fusewright-cli: %s (--help lists commands and options)\n", e.what());
        return fw::kBadInput;
    } catch (const fw::InternalError& e) {
        std::fprintf(stderr, "fusewright-cli: internal error, please report it: %s\n", e.what());
        return fw::kFailure;
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "fusewright-cli: out of memory\n");
        return fw::kFailure;
    }
    return exitCode;
}
