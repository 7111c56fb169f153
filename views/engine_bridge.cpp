// See engine_bridge.h.
#include "views/engine_bridge.h"

#include <QElapsedTimer>
#include <QPointer>

#include <algorithm>

namespace fw {

qint64 EngineBridge::nowMs() {
    static const QElapsedTimer timer = [] { QElapsedTimer t; t.start(); return t; }();
    return timer.elapsed();
}

EngineBridge::EngineBridge(QObject* parent) : QObject(parent), worker_(new QObject) {
    thread_.setObjectName(QStringLiteral("engine"));
    // LLVM recurses deeply on large kernels; the default of a secondary thread is too small for it.
    thread_.setStackSize(64u << 20);
    worker_->moveToThread(&thread_);
    connect(&thread_, &QThread::finished, worker_, &QObject::deleteLater);
    thread_.start();
}

EngineBridge::~EngineBridge() {
    for (auto& r : queue_) r->token.cancel();
    if (running_) running_->token.cancel();
    thread_.quit();
    thread_.wait();
}

bool EngineBridge::has(const QString& tag) const {
    if (running_ && !running_->stale && running_->tag == tag) return true;
    return std::any_of(queue_.begin(), queue_.end(), [&](const auto& r) { return r->tag == tag; });
}

void EngineBridge::enqueue(const QString& tag, const QString& title, const QObject* context, std::function<Delivery(const Progress&)> work, std::function<void()> cancelled) {
    Q_ASSERT(QThread::currentThread() == thread());
    auto request = std::make_unique<Request>();
    request->number = ++lastNumber_;
    request->tag = tag;
    request->title = title;
    request->work = std::move(work);
    request->cancelled = std::move(cancelled);
    if (context) {
        request->context = context;
        request->hasContext = true;
        const quint64 number = request->number;
        connect(context, &QObject::destroyed, this, [this, number] {
            if (running_ && running_->number == number) { running_->stale = true; running_->token.cancel(); }
            for (auto& r : queue_) if (r->number == number) r->stale = true;
        });
    }
    if (running_ && running_->tag == tag) {
        running_->stale = true;
        running_->token.cancel();
    }
    auto same = std::find_if(queue_.begin(), queue_.end(), [&](const auto& r) { return r->tag == tag; });
    if (same != queue_.end()) *same = std::move(request);  // keeps its place in the queue
    else queue_.push_back(std::move(request));
    if (!running_) startNext();
}

void EngineBridge::startNext() {
    while (!queue_.empty() && queue_.front()->stale) queue_.pop_front();
    if (queue_.empty()) {
        job_ = {};
        Q_EMIT jobChanged();
        Q_EMIT idleNow();
        return;
    }
    running_ = std::move(queue_.front());
    queue_.pop_front();
    job_ = {running_->tag, running_->title, {}, -1, nowMs()};
    Q_EMIT jobChanged();
    lastProgressMs_ = -1000;  // the first progress of a job is always shown
    Progress progress;
    progress.cancel = running_->token;
    const quint64 number = running_->number;
    progress.report = [this, number](double fraction, const std::string& what) {
        QMetaObject::invokeMethod(this, [this, number, fraction, text = QString::fromStdString(what)] { progressed(number, fraction, text); }, Qt::QueuedConnection);
    };
    QMetaObject::invokeMethod(worker_, [this, number, work = running_->work, progress] {
        Delivery deliver = work(progress);
        QMetaObject::invokeMethod(this, [this, number, deliver = std::move(deliver)] { finished(number, deliver); }, Qt::QueuedConnection);
    }, Qt::QueuedConnection);
}

void EngineBridge::progressed(quint64 number, double fraction, const QString& what) {
    if (!running_ || running_->number != number) return;
    job_.fraction = fraction;
    job_.what = what;
    const qint64 now = nowMs();
    if (now - lastProgressMs_ < 50) return;
    lastProgressMs_ = now;
    Q_EMIT jobChanged();
}

void EngineBridge::finished(quint64 number, const Delivery& deliver) {
    if (!running_ || running_->number != number) return;
    std::unique_ptr<Request> done = std::move(running_);
    if (!done->stale) {
        if (done->token.cancelled()) done->cancelled();
        else deliver();
    }
    if (!running_) startNext();  // deliver may have asked for more, which then has started already
}

void EngineBridge::cancel(const QString& tag) {
    if (running_ && running_->tag == tag && !running_->stale) running_->token.cancel();
    for (auto it = queue_.begin(); it != queue_.end();) {
        if ((*it)->tag != tag) { ++it; continue; }
        auto request = std::move(*it);
        it = queue_.erase(it);
        if (!request->stale) request->cancelled();
    }
}

void EngineBridge::dropAll() {
    queue_.clear();
    if (!running_) return;
    running_->stale = true;
    running_->token.cancel();
}

}  // namespace fw
