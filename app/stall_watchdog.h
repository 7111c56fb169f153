// An application that notices when one event keeps the UI thread for too long and logs who it was. On in checked builds (FW_CHECKED) and with FW_WATCHDOG=1.
#pragma once
#include <QApplication>

namespace fw {

class WatchedApplication : public QApplication {
public:
    WatchedApplication(int& argc, char** argv);
    bool notify(QObject* receiver, QEvent* event) override;
    /// Longest event so far in milliseconds, and how many went over the limit.
    double longestMs() const { return longestMs_; }
    int stalls() const { return stalls_; }

private:
    bool on_;
    int depth_ = 0;
    double longestMs_ = 0;
    int stalls_ = 0;
};

}  // namespace fw
