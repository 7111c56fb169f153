// State and input of the code pane: rows, links, search, keys. Painting is in code_pane_paint.cpp.
#include "views/code_pane.h"

#include <QApplication>
#include <QClipboard>
#include <QFontMetricsF>
#include <QFutureWatcher>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <QtConcurrent>

#include <algorithm>
#include <cmath>

#include "views/text_cells.h"
#include "views/theme.h"

namespace fw {

namespace {
constexpr int kNarrow = 700;             // px; a narrower diff is shown unified
constexpr int kCompareAside = 20000;     // lines; larger texts are compared off the UI thread
constexpr double kLineFactor = 18.0 / 13.0;
}  // namespace

CodePane::CodePane(Selection* selection, QWidget* parent) : QAbstractScrollArea(parent), selection_(selection), after_(std::make_shared<const CodeDocument>()) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Code"));
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    viewport()->setMouseTracking(true);
    viewport()->setCursor(Qt::IBeamCursor);
    setMinimumSize(200, 80);
    updateMetrics();
    if (selection_) {
        connect(selection_, &Selection::changed, this, [this](const QObject* origin) {
            linkSelection();
            if (origin == this || linkedRight_.empty()) return;
            // A pane scrolls only when nothing of the target is in view.
            const int first = firstVisibleRow(), last = first + viewport()->height() / rowHeight_ - 1;
            for (int line : linkedRight_) {
                const int row = rowOfLine(line, false);
                if (row >= first && row < last) return;
            }
            showRow(rowOfLine(linkedRight_.front(), false), true);
        });
        connect(selection_, &Selection::hoverChanged, this, [this] { linkHover(); });
    }
}

void CodePane::setDocument(CodeDocumentPtr document) {
    ++compareTag_;
    comparing_ = false;
    const int line = firstVisibleRow();
    const bool keepPlace = !before_ && document && after_ && std::abs(document->lineCount() - after_->lineCount()) < 3;
    before_.reset();
    after_ = document ? std::move(document) : std::make_shared<const CodeDocument>();
    diff_ = {};
    rows_.clear();
    openedFolds_.clear();
    message_.clear();
    currentLine_ = -1;
    from_ = to_ = {};
    hits_.clear();
    currentHit_ = -1;
    linkSelection();
    updateScrollBars();
    verticalScrollBar()->setValue(keepPlace ? line : 0);
    horizontalScrollBar()->setValue(0);
    if (findField_ && findField_->isVisible() && !findField_->text().isEmpty()) find(findField_->text());
    if (!linkedRight_.empty()) showRow(linkedRight_.front(), true);
    viewport()->update();
}

void CodePane::setDocument(std::string text, CodeLanguage language, std::vector<std::pair<int, NodeId>> lineIds) {
    setDocument(std::make_shared<const CodeDocument>(std::move(text), language, std::move(lineIds)));
}

void CodePane::setDiff(CodeDocumentPtr before, CodeDocumentPtr after) {
    setDocument(std::move(after));
    if (!before || before->text() == after_->text()) return;
    before_ = std::move(before);
    compare();
}

void CodePane::compare() {
    const uint64_t tag = ++compareTag_;
    if (before_->lineCount() + after_->lineCount() < kCompareAside) {
        adoptDiff(diffDocuments(*before_, *after_, folding_));
        return;
    }
    comparing_ = true;
    auto* watcher = new QFutureWatcher<CodeDiff>(this);
    connect(watcher, &QFutureWatcher<CodeDiff>::finished, this, [this, watcher, tag] {
        if (tag == compareTag_) {
            comparing_ = false;
            adoptDiff(watcher->result());
        }
        watcher->deleteLater();
    });
    watcher->setFuture(QtConcurrent::run([before = before_, after = after_, fold = folding_] { return diffDocuments(*before, *after, fold); }));
}

void CodePane::adoptDiff(CodeDiff diff) {
    diff_ = std::move(diff);
    rebuildRows();
    linkSelection();
    if (!linkedRight_.empty()) showRow(rowOfLine(linkedRight_.front(), false), true);
    else if (!diff_.changes.empty()) nextChange(0);
}

void CodePane::rebuildRows() {
    rows_.clear();
    const bool unified = before_ && !sideBySide();
    std::vector<CodeRow> added;
    auto flush = [&] {
        rows_.insert(rows_.end(), added.begin(), added.end());
        added.clear();
    };
    for (const CodeRow& r : diff_.rows) {
        if (r.folded && openedFolds_.count(r.right)) {
            flush();
            for (int i = 0; i < r.folded; ++i) rows_.push_back({r.left + i, r.right + i, Change::Same, 0});
            continue;
        }
        if (unified && r.change == Change::Changed) {  // all old lines of a block, then all new ones
            rows_.push_back({r.left, -1, Change::Removed, 0});
            added.push_back({-1, r.right, Change::Added, 0});
            continue;
        }
        if (r.change != Change::Added) flush();
        (unified && r.change == Change::Added && !added.empty() ? added : rows_).push_back(r);
    }
    flush();
    rowOfLeft_.assign(before_ ? size_t(before_->lineCount()) : 0, 0);
    rowOfRight_.assign(size_t(after_->lineCount()), 0);
    for (size_t r = 0; r < rows_.size(); ++r)
        for (int i = 0; i < std::max(1, rows_[r].folded); ++i) {
            if (rows_[r].left >= 0) rowOfLeft_[size_t(rows_[r].left + i)] = int(r);
            if (rows_[r].right >= 0) rowOfRight_[size_t(rows_[r].right + i)] = int(r);
        }
    updateScrollBars();
    viewport()->update();
}

void CodePane::setMessage(const QString& message) {
    setDocument(CodeDocumentPtr());
    message_ = message;
    viewport()->update();
}

void CodePane::setTitles(const QString& left, const QString& right) {
    leftTitle_ = left;
    rightTitle_ = right;
    updateScrollBars();
    viewport()->update();
}

void CodePane::setFolding(bool on) {
    folding_ = on;
    openedFolds_.clear();
    if (before_) compare();
}

void CodePane::setLinked(std::vector<NodeId> ids) {
    linked_ = std::move(ids);
    linkedRight_ = after_->linesOf(linked_);
    linkedLeft_ = before_ ? before_->linesOf(linked_) : std::vector<int>();
    viewport()->update();
}

void CodePane::linkSelection() {
    if (selection_) setLinked(selection_->state().nodes);
    else setLinked(linked_);
}

void CodePane::linkHover() {
    hoverRight_ = after_->linesOf(selection_->hovered());
    hoverLeft_ = before_ ? before_->linesOf(selection_->hovered()) : std::vector<int>();
    viewport()->update();
}

int CodePane::rowCount() const { return before_ && !rows_.empty() ? int(rows_.size()) : after_->lineCount(); }
int CodePane::firstVisibleRow() const { return verticalScrollBar()->value(); }
bool CodePane::sideBySide() const { return before_ && viewport()->width() >= kNarrow; }
int CodePane::headerHeight() const { return (leftTitle_.isEmpty() && rightTitle_.isEmpty()) || (!before_ && rightTitle_.isEmpty()) ? 0 : 24; }
int CodePane::stripWidth() const { return 10; }

int CodePane::lineOf(int row, bool left) const {
    if (row < 0 || row >= rowCount()) return -1;
    if (!before_ || rows_.empty()) return left ? -1 : row;
    const CodeRow& r = rows_[size_t(row)];
    return r.folded ? -1 : left ? r.left : r.right;
}

bool CodePane::showsLeft(int row) const { return before_ && !rows_.empty() && row >= 0 && row < int(rows_.size()) && rows_[size_t(row)].right < 0; }

int CodePane::rowOfLine(int line, bool left) const {
    if (!before_ || rows_.empty()) return line;
    const auto& rows = left ? rowOfLeft_ : rowOfRight_;
    return rows.empty() ? 0 : rows[size_t(std::clamp(line, 0, int(rows.size()) - 1))];
}

std::vector<CodePane::Column> CodePane::columns() const {
    const int width = viewport()->width() - stripWidth(), top = headerHeight(), height = viewport()->height() - top;
    auto gutter = [&](const CodeDocument& d) { return int(std::ceil(cell_ * std::max(3, int(std::to_string(d.lineCount()).size())))) + 26; };
    if (!sideBySide()) return {{QRect(0, top, width, height), gutter(*after_), false}};
    const int half = width / 2;
    return {{QRect(0, top, half - 1, height), gutter(*before_), true}, {QRect(half, top, width - half, height), gutter(*after_), false}};
}

const CodePane::Column* CodePane::columnAt(const std::vector<Column>& all, int x) const {
    for (const auto& c : all)
        if (x >= c.area.left() && x <= c.area.right()) return &c;
    return all.empty() ? nullptr : &all.back();
}

int CodePane::rowAt(int y) const { return firstVisibleRow() + (y - headerHeight()) / rowHeight_; }

void CodePane::updateMetrics() {
    font_ = monoFont(textSize_);
    italic_ = monoFont(textSize_, false, true);
    const QFontMetricsF m(font_);
    cell_ = m.horizontalAdvance(QLatin1Char('0'));
    rowHeight_ = std::max(int(std::round(textSize_ * kLineFactor)), int(std::ceil(m.height())));
    ascent_ = std::round((rowHeight_ - m.height()) / 2 + m.ascent());
    updateScrollBars();
}

void CodePane::updateScrollBars() {
    const int page = std::max(1, (viewport()->height() - headerHeight()) / rowHeight_);
    verticalScrollBar()->setRange(0, std::max(0, rowCount() - page + std::min(page - 1, 3)));
    verticalScrollBar()->setPageStep(page);
    verticalScrollBar()->setSingleStep(3);
    const auto all = columns();
    const double longest = std::max(after_->longestLine(), before_ ? before_->longestLine() : 0);
    const int room = all.front().area.width() - all.front().gutter;
    horizontalScrollBar()->setRange(0, int(std::min(1e9, std::max(0.0, (longest + 4) * cell_ - room))));
    horizontalScrollBar()->setPageStep(std::max(1, room));
    horizontalScrollBar()->setSingleStep(int(cell_ * 4));
}

void CodePane::scrollContentsBy(int, int) { viewport()->update(); }

void CodePane::showRow(int row, bool centre) {
    const int page = verticalScrollBar()->pageStep(), first = firstVisibleRow();
    if (centre || row < first || row >= first + page) verticalScrollBar()->setValue(row - page / 3);
    viewport()->update();
}

void CodePane::goToLine(int line) {
    line = std::clamp(line, 0, after_->lineCount() - 1);
    int row = rowOfLine(line, false);
    if (before_ && row < int(rows_.size()) && rows_[size_t(row)].folded) {
        openedFolds_.insert(rows_[size_t(row)].right);
        rebuildRows();
        row = rowOfLine(line, false);
    }
    currentLine_ = line;
    currentLeft_ = false;
    showRow(row, true);
}

int CodePane::find(const QString& query) {
    hits_ = findInDocument(*after_, query.toStdString());
    if (before_)  // removed lines can only be found on the left
        for (CodeHit h : findInDocument(*before_, query.toStdString())) {
            h.right = false;
            const int row = rowOfLine(h.line, true);
            if (row < int(rows_.size()) && rows_[size_t(row)].right < 0) hits_.push_back(h);
        }
    std::stable_sort(hits_.begin(), hits_.end(), [this](const CodeHit& a, const CodeHit& b) {
        return before_ ? rowOfLine(a.line, !a.right) < rowOfLine(b.line, !b.right) : a.line < b.line;
    });
    currentHit_ = -1;
    viewport()->update();
    Q_EMIT hitsChanged(int(hits_.size()), currentHit_);
    return int(hits_.size());
}

void CodePane::findNext(int direction) {
    if (hits_.empty()) return;
    const int count = int(hits_.size());
    if (currentHit_ < 0) {  // the first one at or after the top of the view
        const int top = firstVisibleRow();
        currentHit_ = 0;
        while (currentHit_ + 1 < count && rowOfLine(hits_[size_t(currentHit_)].line, !hits_[size_t(currentHit_)].right) < top) ++currentHit_;
    } else {
        currentHit_ = (currentHit_ + direction + count) % count;
    }
    const CodeHit& h = hits_[size_t(currentHit_)];
    if (h.right) goToLine(h.line);
    else showRow(rowOfLine(h.line, true), true);
    const double x = h.begin * cell_;
    const int room = horizontalScrollBar()->pageStep();
    if (x < horizontalScrollBar()->value() || x > horizontalScrollBar()->value() + room - 80) horizontalScrollBar()->setValue(int(x) - room / 3);
    Q_EMIT hitsChanged(count, currentHit_);
}

void CodePane::nextChange(int direction) {
    std::vector<int> starts;
    for (size_t r = 0; r < rows_.size(); ++r)
        if (rows_[r].change != Change::Same && (r == 0 || rows_[r - 1].change == Change::Same)) starts.push_back(int(r));
    if (starts.empty()) return;
    const int here = currentLine_ >= 0 ? rowOfLine(currentLine_, currentLeft_) : direction > 0 ? -1 : rowCount();
    int target = starts.front();
    if (direction > 0) {
        auto at = std::upper_bound(starts.begin(), starts.end(), here);
        target = at == starts.end() ? starts.front() : *at;
    } else if (direction < 0) {
        auto at = std::lower_bound(starts.begin(), starts.end(), here);
        target = at == starts.begin() ? starts.back() : *std::prev(at);
    }
    currentLeft_ = rows_[size_t(target)].right < 0;
    currentLine_ = direction == 0 ? -1 : currentLeft_ ? rows_[size_t(target)].left : rows_[size_t(target)].right;
    showRow(target, true);
}

void CodePane::setTextSize(int px) {
    textSize_ = std::clamp(px, 8, 32);
    updateMetrics();
    viewport()->update();
}

QString CodePane::selectedText() const {
    if (from_.row < 0 || from_ == to_) {
        const bool left = currentLeft_ && before_;
        return currentLine_ < 0 ? QString() : QString::fromUtf8(documentOf(left).line(currentLine_).data(), qsizetype(documentOf(left).line(currentLine_).size()));
    }
    const Mark a = std::min(from_, to_), b = std::max(from_, to_);
    std::string out;
    for (int row = a.row; row <= b.row; ++row) {
        const bool left = sideBySide() ? currentLeft_ : showsLeft(row);
        const int line = lineOf(row, left);
        if (line < 0) continue;
        std::string_view text = documentOf(left).line(line);
        const size_t begin = row == a.row ? std::min<size_t>(a.byte, text.size()) : 0, end = row == b.row ? std::min<size_t>(b.byte, text.size()) : text.size();
        out.append(text.substr(begin, end > begin ? end - begin : 0));
        if (row != b.row) out += '\n';
    }
    return QString::fromStdString(out);
}

void CodePane::copySelection() const {
    const QString text = selectedText();
    if (!text.isEmpty()) QApplication::clipboard()->setText(text);
}

QString CodePane::asText() const {
    if (!message_.isEmpty()) return message_;
    return QString::fromStdString(before_ ? unifiedDiff(before_->text(), after_->text()) : std::string(after_->text()));
}

CodePane::Mark CodePane::markAt(const Column& column, const QPoint& at) const {
    const int row = std::clamp(rowAt(at.y()), 0, std::max(0, rowCount() - 1));
    const bool left = column.left || (!sideBySide() && showsLeft(row));
    const int line = lineOf(row, left);
    if (line < 0) return {row, 0};
    const double x = at.x() - column.area.left() - column.gutter + horizontalScrollBar()->value();
    return {row, byteAtCell(documentOf(left).line(line), int(std::round(std::max(0.0, x) / cell_)))};
}

void CodePane::activate(int row, bool left) {
    const int line = lineOf(row, left);
    if (line < 0) return;
    currentLine_ = line;
    currentLeft_ = left;
    const auto ids = documentOf(left).idsOf(line);
    Q_EMIT lineActivated(line, ids);
    if (selection_ && !ids.empty()) selection_->selectNodes(ids, this);
}

void CodePane::mousePressEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    if (event->button() == Qt::BackButton && selection_) return selection_->back();
    if (event->button() == Qt::ForwardButton && selection_) return selection_->forward();
    if (event->button() != Qt::LeftButton || at.y() < headerHeight()) return;
    if (at.x() >= viewport()->width() - stripWidth()) {  // the overview strip jumps
        const double scale = std::min(double(viewport()->height() - headerHeight()) / std::max(1, rowCount()), double(rowHeight_));
        showRow(int((at.y() - headerHeight()) / std::max(scale, 1e-6)), true);
        return;
    }
    const int row = rowAt(at.y());
    if (row >= rowCount()) return;
    if (before_ && !rows_.empty() && rows_[size_t(row)].folded) {
        openedFolds_.insert(rows_[size_t(row)].right);
        rebuildRows();
        return;
    }
    const auto all = columns();
    const Column* column = columnAt(all, at.x());
    if (!column) return;
    dragging_ = true;
    if (sideBySide()) currentLeft_ = column->left;
    to_ = markAt(*column, at);
    if (!(event->modifiers() & Qt::ShiftModifier) || from_.row < 0) from_ = to_;
    viewport()->update();
}

void CodePane::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    const auto all = columns();
    if (dragging_) {
        for (const auto& c : all)
            if (c.left == (sideBySide() && currentLeft_)) to_ = markAt(c, at);
        if (at.y() < headerHeight()) verticalScrollBar()->setValue(firstVisibleRow() - 1);
        if (at.y() > viewport()->height()) verticalScrollBar()->setValue(firstVisibleRow() + 1);
        viewport()->update();
        return;
    }
    if (!selection_) return;
    const Column* column = columnAt(all, at.x());
    const int row = rowAt(at.y());
    const bool left = column && (column->left || (!sideBySide() && showsLeft(row)));
    const int line = lineOf(row, left);
    selection_->hover(line < 0 ? std::vector<NodeId>() : documentOf(left).idsOf(line), this);
}

void CodePane::mouseReleaseEvent(QMouseEvent* event) {
    if (!dragging_) return;
    dragging_ = false;
    if (from_ == to_) activate(to_.row, sideBySide() ? currentLeft_ : showsLeft(to_.row));
    viewport()->update();
    event->accept();
}

void CodePane::mouseDoubleClickEvent(QMouseEvent* event) {  // a word
    const QPoint at = event->position().toPoint();
    const auto all = columns();
    const Column* column = columnAt(all, at.x());
    if (!column || rowAt(at.y()) >= rowCount()) return;
    const Mark m = markAt(*column, at);
    const bool left = column->left || (!sideBySide() && showsLeft(m.row));
    const int line = lineOf(m.row, left);
    if (line < 0) return;
    const std::string_view text = documentOf(left).line(line);
    auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '.'; };
    uint32_t begin = std::min<uint32_t>(m.byte, uint32_t(text.size())), end = begin;
    while (begin > 0 && part(text[begin - 1])) --begin;
    while (end < text.size() && part(text[end])) ++end;
    from_ = {m.row, begin};
    to_ = {m.row, end};
    viewport()->update();
}

void CodePane::wheelEvent(QWheelEvent* event) {
    if (event->modifiers() & Qt::ControlModifier) {
        setTextSize(textSize_ + (event->angleDelta().y() > 0 ? 1 : -1));
        event->accept();
        return;
    }
    QAbstractScrollArea::wheelEvent(event);
}

void CodePane::showFind() {
    if (!findField_) {
        findField_ = new QLineEdit(viewport());
        findField_->setPlaceholderText(tr("Find"));
        findField_->setAccessibleName(tr("Find in the text"));
        findField_->setClearButtonEnabled(true);
        findField_->setCursor(Qt::IBeamCursor);
        findField_->resize(260, 28);
        connect(findField_, &QLineEdit::textChanged, this, [this](const QString& text) {
            find(text);
            if (!hits_.empty()) findNext(1);
        });
        connect(findField_, &QLineEdit::returnPressed, this, [this] { findNext(QApplication::keyboardModifiers() & Qt::ShiftModifier ? -1 : 1); });
    }
    findField_->move(viewport()->width() - findField_->width() - stripWidth() - 8, headerHeight() + 6);
    const QString marked = selectedText();
    if (from_.row == to_.row && from_ != to_ && !marked.isEmpty()) findField_->setText(marked);
    findField_->show();
    findField_->setFocus();
    findField_->selectAll();
}

void CodePane::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Find)) return showFind();
    if (event->key() == Qt::Key_Escape && findField_ && findField_->isVisible()) {
        findField_->hide();
        findField_->clear();
        setFocus();
        return;
    }
    if (findField_ && findField_->hasFocus()) return QAbstractScrollArea::keyPressEvent(event);
    const bool shift = event->modifiers() & Qt::ShiftModifier, control = event->modifiers() & Qt::ControlModifier;
    auto moveTo = [&](int row) {
        row = std::clamp(row, 0, std::max(0, rowCount() - 1));
        const bool left = sideBySide() ? currentLeft_ && lineOf(row, true) >= 0 : showsLeft(row);
        const int line = lineOf(row, left);
        if (line >= 0) {
            currentLine_ = line;
            currentLeft_ = left;
        }
        showRow(row, false);
    };
    const int here = currentLine_ < 0 ? firstVisibleRow() - 1 : rowOfLine(currentLine_, currentLeft_);
    if (event->matches(QKeySequence::Copy)) return copySelection();
    if (event->matches(QKeySequence::SelectAll)) {
        from_ = {0, 0};
        to_ = {rowCount() - 1, UINT32_MAX};
        viewport()->update();
        return;
    }
    switch (event->key()) {
    case Qt::Key_F3: return findNext(shift ? -1 : 1);
    case Qt::Key_F8: return nextChange(shift ? -1 : 1);
    case Qt::Key_Down: return control ? verticalScrollBar()->setValue(firstVisibleRow() + 1) : moveTo(here + 1);
    case Qt::Key_Up: return control ? verticalScrollBar()->setValue(firstVisibleRow() - 1) : moveTo(here - 1);
    case Qt::Key_PageDown: return control ? event->ignore() : moveTo(here + verticalScrollBar()->pageStep());
    case Qt::Key_PageUp: return control ? event->ignore() : moveTo(here - verticalScrollBar()->pageStep());
    case Qt::Key_Home: return moveTo(0);
    case Qt::Key_End: return moveTo(rowCount() - 1);
    case Qt::Key_Left: return horizontalScrollBar()->setValue(horizontalScrollBar()->value() - int(cell_ * 4));
    case Qt::Key_Right: return horizontalScrollBar()->setValue(horizontalScrollBar()->value() + int(cell_ * 4));
    case Qt::Key_Return:
    case Qt::Key_Enter: return activate(here, currentLeft_);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        if (control) return setTextSize(textSize_ + 1);
        break;
    case Qt::Key_Minus:
        if (control) return setTextSize(textSize_ - 1);
        break;
    case Qt::Key_0:
        if (control) return setTextSize(13);
        break;
    default: break;
    }
    QAbstractScrollArea::keyPressEvent(event);
}

void CodePane::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) viewport()->update();
    QAbstractScrollArea::changeEvent(event);
}

bool CodePane::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave && selection_) selection_->hover({}, this);
    return QAbstractScrollArea::viewportEvent(event);
}

void CodePane::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    if (before_) rebuildRows();  // between side by side and unified
    updateScrollBars();
    if (findField_) findField_->move(viewport()->width() - findField_->width() - stripWidth() - 8, headerHeight() + 6);
}

}  // namespace fw
