// Cancellation and progress: shared between whoever asks for long work and whoever does it.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace fw {

/// Copyable handle; all copies see one flag. Work polls `cancelled()` at least every few milliseconds.
class CancelToken {
public:
    CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
    void cancel() const { flag_->store(true, std::memory_order_relaxed); }
    bool cancelled() const { return flag_->load(std::memory_order_relaxed); }

private:
    std::shared_ptr<std::atomic<bool>> flag_;
};

/// What long work reports to. `fraction` in [0,1], or negative when unknown. Called from any thread.
struct Progress {
    std::function<void(double fraction, const std::string& what)> report;
    CancelToken cancel;

    void at(double fraction, const std::string& what) const { if (report) report(fraction, what); }
    Result<void> check() const {
        if (cancel.cancelled()) return Error{ErrorKind::Cancelled, "cancelled", {}, {}};
        return {};
    }
};

}  // namespace fw
