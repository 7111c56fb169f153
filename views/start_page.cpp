// See start_page.h.
#include "views/start_page.h"

#include <QEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "views/card_grid.h"
#include "views/theme.h"

namespace fw {
namespace {

CardGrid::Entry entryOf(const Sample& s, StartPage* page) {
    return {s.name, s.about, s.path, true, [page, path = s.path] { Q_EMIT page->openAsked(path); }};
}

QLabel* sectionTitle(const QString& text) {
    auto* l = new QLabel(text);
    l->setFont(uiFont(15, 600));
    return l;
}

}  // namespace

StartPage::StartPage(const std::vector<Sample>& samples, QWidget* parent) : QWidget(parent) {
    title_ = new QLabel(QStringLiteral("Fusewright"));
    title_->setFont(uiFont(28, 600));
    words_ = new QLabel(QStringLiteral("Open a captured PyTorch graph, walk through the steps of its compilation, see what each one changed and why, and measure the kernels."));
    words_->setWordWrap(true);
    words_->setFont(uiFont(15));
    auto* open = new QPushButton(QStringLiteral("Open..."));
    open->setDefault(true);
    auto* paste = new QPushButton(QStringLiteral("Paste FX text"));
    for (QPushButton* b : {open, paste}) b->setMinimumSize(120, 34);
    drop_ = new QLabel(QStringLiteral("or drop a .pt2 archive, FX text or a debug folder's fx_graph_readable.py anywhere on the window"));
    drop_->setWordWrap(true);
    recentTitle_ = sectionTitle(QStringLiteral("Recent"));
    modelsTitle_ = sectionTitle(QStringLiteral("Models"));
    capturesTitle_ = sectionTitle(QStringLiteral("Samples"));
    noRecent_ = new QLabel(QStringLiteral("Files that you open appear here."));
    recent_ = new CardGrid(200);
    models_ = new CardGrid(200);
    captures_ = new CardGrid(184);
    std::vector<CardGrid::Entry> models, captures;
    for (const Sample& s : samples) (s.model ? models : captures).push_back(entryOf(s, this));
    const bool noSamples = samples.empty();
    models_->setCards(std::move(models));
    captures_->setCards(std::move(captures));
    modelsTitle_->setVisible(models_->count() > 0);
    if (noSamples) capturesTitle_->setText(QStringLiteral("No samples folder was found beside the program"));

    auto* actions = new QHBoxLayout;
    actions->setSpacing(8);
    actions->addWidget(open);
    actions->addWidget(paste);
    actions->addSpacing(8);
    actions->addWidget(drop_, 1);
    auto* left = new QVBoxLayout;
    left->setSpacing(8);
    left->addWidget(recentTitle_);
    left->addWidget(recent_);
    left->addWidget(noRecent_);
    left->addStretch(1);
    auto* right = new QVBoxLayout;
    right->setSpacing(8);
    right->addWidget(modelsTitle_);
    right->addWidget(models_);
    right->addSpacing(12);
    right->addWidget(capturesTitle_);
    right->addWidget(captures_);
    right->addStretch(1);
    auto* columns = new QHBoxLayout;
    columns->setSpacing(32);
    columns->addLayout(left, 2);
    columns->addLayout(right, 5);
    auto* body = new QWidget;
    body->setMaximumWidth(1240);
    auto* layout = new QVBoxLayout(body);
    layout->setContentsMargins(40, 32, 40, 32);
    layout->setSpacing(8);
    layout->addWidget(title_);
    layout->addWidget(words_);
    layout->addSpacing(12);
    layout->addLayout(actions);
    layout->addSpacing(24);
    layout->addLayout(columns, 1);
    auto* centred = new QWidget;
    auto* centring = new QHBoxLayout(centred);
    centring->setContentsMargins(0, 0, 0, 0);
    centring->addStretch(1);
    centring->addWidget(body, 100);
    centring->addStretch(1);
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidget(centred);
    scroll->setFocusPolicy(Qt::NoFocus);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(scroll);
    setFocusProxy(open);

    connect(open, &QPushButton::clicked, this, &StartPage::dialogAsked);
    connect(paste, &QPushButton::clicked, this, &StartPage::pasteAsked);
    colour();
}

void StartPage::setRecent(const QStringList& paths) {
    std::vector<CardGrid::Entry> entries;
    for (const QString& path : paths) {
        const QFileInfo info(path);
        const bool there = info.exists();
        entries.push_back({info.fileName(), there ? info.absolutePath() : QStringLiteral("missing: %1").arg(info.absolutePath()), path, there, [this, path] { Q_EMIT openAsked(path); }});
    }
    recent_->setCards(std::move(entries));
    noRecent_->setVisible(paths.isEmpty());
    recent_->setVisible(!paths.isEmpty());
}

void StartPage::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) colour();
}

void StartPage::colour() {
    auto ink = [](QLabel* label, const QColor& c) {
        QPalette p = label->palette();
        if (p.color(QPalette::WindowText) == c) return;
        p.setColor(QPalette::WindowText, c);
        label->setPalette(p);
    };
    ink(words_, theme().text2);
    ink(drop_, theme().muted);
    ink(noRecent_, theme().muted);
}

}  // namespace fw
