// The way to the engine: long work runs on one thread of its own, answers come back to the UI thread. The only place in the window that knows threads.
//
//   bridge.ask<SessionStatePtr>("open", "Opening model.pt2", [path](const Progress& p) { return openSession(path, p); },
//                               [this](const Result<SessionStatePtr>& r) { ... });
//
// Rules: one request runs at a time, in the order asked. A newer request with the same tag replaces the queued one; when the older one is running
// it is cancelled and its answer is dropped. Work gets values and immutable shared states, never a widget; it returns errors as values.
// A dropped or cancelled request never delivers, except that cancel(tag) by the user delivers ErrorKind::Cancelled once.
#pragma once
#include <QObject>
#include <QString>
#include <QThread>

#include <deque>
#include <functional>
#include <memory>

#include "core/base/cancel.h"
#include "views/qobject_compare.h"

namespace fw {

/// What runs now, for the progress bar. Empty tag: nothing.
struct EngineJob {
    QString tag, title, what;
    double fraction = -1;      ///< negative: unknown
    qint64 startedMs = 0;      ///< EngineBridge::nowMs() at the start
};

class EngineBridge : public QObject {
    Q_OBJECT

public:
    explicit EngineBridge(QObject* parent = nullptr);
    /// Cancels everything and waits for the running work to notice.
    ~EngineBridge() override;

    /// `deliver` runs on the UI thread. `context`: when it is destroyed first, nothing is delivered.
    template <class T>
    void ask(const QString& tag, const QString& title, std::function<Result<T>(const Progress&)> work, std::function<void(const Result<T>&)> deliver, const QObject* context = nullptr) {
        enqueue(tag, title, context, [work = std::move(work), deliver](const Progress& p) -> Delivery {
            auto answer = std::make_shared<const Result<T>>(guarded<T>(work, p));
            return [answer, deliver] { deliver(*answer); };
        }, [deliver] { deliver(Result<T>(Error{ErrorKind::Cancelled, "cancelled", {}, {}})); });
    }
    /// Stops the running request of this tag and forgets the queued one; its deliver gets ErrorKind::Cancelled.
    void cancel(const QString& tag);
    /// Stops everything; nothing is delivered (another file is opened).
    void dropAll();
    bool idle() const { return !running_ && queue_.empty(); }
    bool has(const QString& tag) const;
    const EngineJob& job() const { return job_; }
    static qint64 nowMs();

Q_SIGNALS:
    void jobChanged();   ///< started, progressed (at most every 50 ms) or ended
    void idleNow();

private:
    using Delivery = std::function<void()>;
    struct Request {
        quint64 number = 0;
        QString tag, title;
        const QObject* context = nullptr;
        bool hasContext = false;
        std::function<Delivery(const Progress&)> work;
        std::function<void()> cancelled;
        CancelToken token;
        bool stale = false;      ///< its answer is not wanted any more
    };

    /// Runs work; what it throws (an internal check, no memory) becomes an error.
    template <class T>
    static Result<T> guarded(const std::function<Result<T>(const Progress&)>& work, const Progress& p) {
        try {
            return work(p);
        } catch (const std::bad_alloc&) {
            return Error{ErrorKind::Internal, "not enough memory for this request", {}, {}};
        } catch (const std::exception& e) {
            return Error{ErrorKind::Internal, std::string("internal error, please report it with the file: ") + e.what(), {}, {}};
        }
    }
    void enqueue(const QString& tag, const QString& title, const QObject* context, std::function<Delivery(const Progress&)> work, std::function<void()> cancelled);
    void startNext();
    void finished(quint64 number, const Delivery& deliver);
    void progressed(quint64 number, double fraction, const QString& what);

    QThread thread_;
    QObject* worker_;            ///< lives on thread_; only a target for queued calls
    std::deque<std::unique_ptr<Request>> queue_;
    std::unique_ptr<Request> running_;
    quint64 lastNumber_ = 0;
    EngineJob job_;
    qint64 lastProgressMs_ = 0;
};

}  // namespace fw
