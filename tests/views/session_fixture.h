// A session made from text, through the whole pipeline, for tests of the views.
#pragma once
#include <gtest/gtest.h>

#include "core/session/session.h"
#include "passes/all_passes.h"
#include "tests/views/captured_graphs.h"

namespace fw {

inline SessionStatePtr steppedSession(const char* text) {
    registerAllPasses();
    auto opened = openSessionText(text, "test");
    if (!opened.ok()) { ADD_FAILURE() << opened.error().line(); return nullptr; }
    auto stepped = runSteps(*opened, {}, {});
    if (!stepped.ok()) { ADD_FAILURE() << stepped.error().line(); return nullptr; }
    return *stepped;
}

}  // namespace fw
