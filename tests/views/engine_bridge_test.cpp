// The bridge to the engine: order, replacing, cancelling, errors, and objects that go away.
#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QThread>

#include <stdexcept>

#include "views/engine_bridge.h"

namespace fw {
namespace {

void untilIdle(EngineBridge& bridge) {
    QElapsedTimer timer;
    timer.start();
    while (!bridge.idle() && timer.elapsed() < 20000) QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    ASSERT_TRUE(bridge.idle());
}
/// Work that ends only when it is cancelled.
std::function<Result<int>(const Progress&)> untilCancelled() {
    return [](const Progress& p) -> Result<int> {
        while (!p.cancel.cancelled()) QThread::usleep(200);
        return Error{ErrorKind::Cancelled, "cancelled", {}, {}};
    };
}

TEST(EngineBridge, RunsInOrderOnItsOwnThread) {
    EngineBridge bridge;
    std::string order;
    QThread* worker = nullptr;
    for (int i = 0; i < 4; ++i)
        bridge.ask<int>(QString::number(i), {}, [i, &worker](const Progress&) -> Result<int> { worker = QThread::currentThread(); return i; },
                        [&](const Result<int>& r) { ASSERT_EQ(QThread::currentThread(), bridge.thread()); order += std::to_string(*r); });
    untilIdle(bridge);
    EXPECT_EQ(order, "0123");
    EXPECT_NE(worker, bridge.thread());
}

TEST(EngineBridge, NewerAskReplacesTheQueuedOne) {
    EngineBridge bridge;
    std::string seen;
    bridge.ask<int>(QStringLiteral("first"), {}, untilCancelled(), [&](const Result<int>& r) { seen += r.ok() ? "?" : "c"; });
    for (int i = 0; i < 5; ++i)
        bridge.ask<int>(QStringLiteral("text"), {}, [i](const Progress&) -> Result<int> { return i; }, [&](const Result<int>& r) { seen += std::to_string(*r); });
    bridge.cancel(QStringLiteral("first"));
    untilIdle(bridge);
    EXPECT_EQ(seen, "c4");  // the user's cancel is told, of the five only the newest ran
}

TEST(EngineBridge, NewerAskDropsTheRunningOne) {
    EngineBridge bridge;
    std::string seen;
    bridge.ask<int>(QStringLiteral("run"), {}, untilCancelled(), [&](const Result<int>&) { seen += "old"; });
    bridge.ask<int>(QStringLiteral("run"), {}, [](const Progress&) -> Result<int> { return 7; }, [&](const Result<int>& r) { seen += std::to_string(*r); });
    untilIdle(bridge);
    EXPECT_EQ(seen, "7");
}

TEST(EngineBridge, DropAllDeliversNothing) {
    EngineBridge bridge;
    int delivered = 0;
    bridge.ask<int>(QStringLiteral("a"), {}, untilCancelled(), [&](const Result<int>&) { ++delivered; });
    bridge.ask<int>(QStringLiteral("b"), {}, [](const Progress&) -> Result<int> { return 1; }, [&](const Result<int>&) { ++delivered; });
    bridge.dropAll();
    untilIdle(bridge);
    EXPECT_EQ(delivered, 0);
}

TEST(EngineBridge, ThrownErrorsComeBackAsValues) {
    EngineBridge bridge;
    std::string line;
    bridge.ask<int>(QStringLiteral("a"), {}, [](const Progress&) -> Result<int> { throw InternalError("broken"); }, [&](const Result<int>& r) { line = r.ok() ? "" : r.error().line(); });
    untilIdle(bridge);
    EXPECT_NE(line.find("broken"), std::string::npos);
}

TEST(EngineBridge, ADeadReceiverGetsNothing) {
    EngineBridge bridge;
    int delivered = 0;
    auto* receiver = new QObject;
    bridge.ask<int>(QStringLiteral("a"), {}, untilCancelled(), [&](const Result<int>&) { ++delivered; }, receiver);
    bridge.ask<int>(QStringLiteral("b"), {}, [](const Progress&) -> Result<int> { return 1; }, [&](const Result<int>&) { ++delivered; }, receiver);
    delete receiver;
    untilIdle(bridge);
    EXPECT_EQ(delivered, 0);
}

TEST(EngineBridge, ProgressReachesTheJob) {
    EngineBridge bridge;
    QString what;
    QObject::connect(&bridge, &EngineBridge::jobChanged, [&] { if (!bridge.job().what.isEmpty()) what = bridge.job().what; });
    bridge.ask<int>(QStringLiteral("a"), QStringLiteral("Working"), [](const Progress& p) -> Result<int> { p.at(0.5, "half"); return 1; }, [](const Result<int>&) {});
    untilIdle(bridge);
    EXPECT_EQ(what, QStringLiteral("half"));
}

}  // namespace
}  // namespace fw
