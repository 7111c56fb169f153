// Makes the one QApplication of the view tests: offscreen, our theme, a throw-away settings folder.
#include <gtest/gtest.h>

#include <QApplication>
#include <QStandardPaths>

#include <memory>

#include "views/theme.h"

namespace {

class ApplicationEnvironment : public testing::Environment {
public:
    void SetUp() override {
        if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
        QStandardPaths::setTestModeEnabled(true);
        static int count = 1;
        static char name[] = "test_views";
        static char* arguments[] = {name, nullptr};
        app_ = std::make_unique<QApplication>(count, arguments);
        fw::applyTheme(*app_, false);
    }
    void TearDown() override { app_.reset(); }

private:
    std::unique_ptr<QApplication> app_;
};

[[maybe_unused]] const auto* environment = testing::AddGlobalTestEnvironment(new ApplicationEnvironment);

}  // namespace
