// See job_bar.h.
#include "views/job_bar.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QToolButton>

#include "views/bar_button.h"
#include "views/theme.h"

namespace fw {
namespace {
constexpr int kAppearMs = 300;  // shorter work would only flicker
}

JobBar::JobBar(EngineBridge* engine, QWidget* parent) : QWidget(parent), engine_(engine) {
    text_ = new QLabel;
    text_->setFont(uiFont(11));
    bar_ = new QProgressBar;
    bar_->setFixedSize(160, 12);
    bar_->setTextVisible(false);
    bar_->setAccessibleName(QStringLiteral("Progress"));
    stop_ = new BarButton(QStringLiteral("Cancel"), QStringLiteral("Cancel what is running"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(8, 0, 8, 0);
    layout->setSpacing(8);
    layout->addWidget(text_);
    layout->addWidget(bar_);
    layout->addWidget(stop_);
    appear_.setSingleShot(true);
    tick_.setInterval(200);
    connect(&appear_, &QTimer::timeout, this, [this] { if (!engine_->idle()) { setVisible(true); refresh(); tick_.start(); } });
    connect(&tick_, &QTimer::timeout, this, &JobBar::refresh);
    connect(stop_, &QToolButton::clicked, this, [this] { engine_->cancel(engine_->job().tag); });
    connect(engine_, &EngineBridge::jobChanged, this, [this] {
        if (engine_->idle()) {
            appear_.stop();
            tick_.stop();
            setVisible(false);
        } else if (!isVisible() && !appear_.isActive()) {
            appear_.start(kAppearMs);
        } else {
            refresh();
        }
    });
    setVisible(false);
}

void JobBar::refresh() {
    const EngineJob& job = engine_->job();
    if (job.tag.isEmpty()) return;
    const double elapsed = double(EngineBridge::nowMs() - job.startedMs) / 1e3;
    text_->setText(QStringLiteral("%1%2, %3 s").arg(job.title, job.what.isEmpty() ? QString() : QStringLiteral(": ") + job.what).arg(elapsed, 0, 'f', 1));
    if (job.fraction < 0) bar_->setRange(0, 0);
    else {
        bar_->setRange(0, 1000);
        bar_->setValue(int(job.fraction * 1000));
    }
}

NoticeBar::NoticeBar(QWidget* parent) : QWidget(parent) {
    what_ = new QLabel;
    what_->setFont(uiFont(13, 600));
    line_ = new QLabel;
    line_->setWordWrap(true);
    line_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    remedy_ = new QLabel;
    remedy_->setWordWrap(true);
    for (QLabel* l : {what_, line_, remedy_}) l->setTextFormat(Qt::PlainText);
    auto* copy = new BarButton(QStringLiteral("Copy details"));
    auto* close = new BarButton(QStringLiteral("Dismiss"));
    auto* words = new QVBoxLayout;
    words->setSpacing(2);
    words->addWidget(what_);
    words->addWidget(line_);
    words->addWidget(remedy_);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(16, 10, 12, 10);
    layout->setSpacing(8);
    layout->addLayout(words, 1);
    layout->addWidget(copy, 0, Qt::AlignTop);
    layout->addWidget(close, 0, Qt::AlignTop);
    connect(copy, &QToolButton::clicked, this, [this] { QApplication::clipboard()->setText(text()); });
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    colour();
    hide();
}

void NoticeBar::tell(const QString& what, const QString& line, const QString& remedy) {
    what_->setText(what);
    line_->setText(line);
    remedy_->setText(remedy);
    remedy_->setVisible(!remedy.isEmpty());
    setAccessibleName(text());
    show();
}

QString NoticeBar::text() const { return QStringLiteral("%1\n%2\n%3").arg(what_->text(), line_->text(), remedy_->text()).trimmed(); }

void NoticeBar::colour() {
    auto ink = [](QLabel* l, const QColor& c) {
        QPalette p = l->palette();
        if (p.color(QPalette::WindowText) == c) return;
        p.setColor(QPalette::WindowText, c);
        l->setPalette(p);
    };
    ink(what_, theme().error);
    ink(remedy_, theme().text2);
}

void NoticeBar::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) colour();
}

void NoticeBar::paintEvent(QPaintEvent*) {
    QPainter p(this);
    p.fillRect(rect(), theme().removedTint);
    p.fillRect(0, 0, 4, height(), theme().error);
    p.fillRect(0, height() - 1, width(), 1, theme().line);
}

}  // namespace fw
