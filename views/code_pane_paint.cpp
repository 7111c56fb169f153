// Paints the rows of the code pane: only what is visible, cost independent of the length of the text and of its lines.
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

#include "views/code_pane.h"
#include "views/label_font.h"
#include "views/text_cells.h"
#include "views/theme.h"

namespace fw {

namespace {

QColor tokenColour(const Theme& t, TokenKind kind) {
    switch (kind) {
    case TokenKind::Keyword: return t.keyword;
    case TokenKind::Type: return t.typeName;
    case TokenKind::Instruction: return t.instruction;
    case TokenKind::Value: return t.valueName;
    case TokenKind::Number: return t.number;
    case TokenKind::String: return t.string;
    case TokenKind::Comment: return t.muted;
    case TokenKind::Metadata: return t.metadata;
    case TokenKind::Label: return t.label;
    case TokenKind::Text: break;
    }
    return t.text;
}

bool contains(const std::vector<int>& sorted, int line) { return std::binary_search(sorted.begin(), sorted.end(), line); }

/// Control and bidirectional marks are shown, so that a text cannot hide what it says.
QString printable(std::string_view bytes) {
    QString s = QString::fromUtf8(bytes.data(), qsizetype(bytes.size()));
    for (QChar& c : s) {
        const char16_t u = c.unicode();
        if (u < 0x20 && u != u'\t') c = QChar(char16_t(0x2400 + u));
        else if ((u >= 0x202A && u <= 0x202E) || (u >= 0x2066 && u <= 0x2069) || u == 0x200B) c = QChar(0xFFFD);
    }
    return s;
}

}  // namespace

void CodePane::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter p(viewport());
    p.fillRect(viewport()->rect(), t.panel);
    if (!message_.isEmpty() || (after_->text().empty() && !before_)) {
        p.setFont(uiFont(13));
        p.setPen(t.muted);
        p.drawText(QRectF(viewport()->rect()).adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap, message_.isEmpty() ? tr("Nothing to show here yet.") : message_);
        return;
    }
    const int first = firstVisibleRow(), count = rowCount();
    for (const Column& c : columns()) {
        p.save();
        p.setClipRect(c.area);
        p.fillRect(QRect(c.area.left(), c.area.top(), c.gutter - 6, c.area.height()), t.sunken);
        for (int row = first, y = c.area.top(); row < count && y < c.area.bottom(); ++row, y += rowHeight_) paintRow(p, c, row, y);
        p.restore();
        if (c.left) p.fillRect(c.area.right() + 1, c.area.top(), 1, c.area.height(), t.line);
    }
    paintHeader(p);
    paintStrip(p);
    if (comparing_) {
        const QString words = tr("Comparing…");
        p.setFont(uiFont(12));
        const QRect box((viewport()->width() - 120) / 2, headerHeight() + 8, 120, 26);
        p.fillRect(box, t.hover);
        p.setPen(t.text);
        p.drawText(box, Qt::AlignCenter, words);
    }
}

void CodePane::paintHeader(QPainter& p) const {
    const int height = headerHeight();
    if (height == 0) return;
    const Theme& t = theme();
    p.fillRect(0, 0, viewport()->width(), height, t.panel);
    p.fillRect(0, height - 1, viewport()->width(), 1, t.line);
    const auto& font = LabelFont::graph(12, 500);
    p.setPen(t.text2);
    const auto all = columns();
    for (const Column& c : all) {
        const QString& title = c.left ? leftTitle_ : all.size() == 1 && before_ ? rightTitle_ : rightTitle_;
        font.draw(p, c.area.left() + 12, 0, height, title.toStdString(), c.area.width() - 140);
    }
    if (!before_) return;
    double x = all.back().area.right() - 6;
    const auto& mono = LabelFont::mono(12, true);
    auto count = [&](Change change, int n) {
        if (n == 0) return;
        const DiffLook look = diffLook(t, change);
        const std::string text = look.mark + std::to_string(n);
        x -= mono.width(text) + 10;
        p.setPen(look.colour);
        mono.draw(p, x, 0, height, text);
    };
    count(Change::Changed, diff_.changed);
    count(Change::Removed, diff_.removed);
    count(Change::Added, diff_.added);
}

void CodePane::paintRow(QPainter& p, const Column& c, int row, int y) const {
    const Theme& t = theme();
    const bool diff = before_ && !rows_.empty();
    const CodeRow* r = diff ? &rows_[size_t(row)] : nullptr;
    const QRect whole(c.area.left(), y, c.area.width(), rowHeight_);
    const int textLeft = c.area.left() + c.gutter;
    if (r && r->folded) {
        p.fillRect(whole, t.sunken);
        p.fillRect(whole.left(), y, whole.width(), 1, t.line);
        p.fillRect(whole.left(), y + rowHeight_ - 1, whole.width(), 1, t.line);
        if (sideBySide() && !c.left) return;  // said once
        p.setPen(t.muted);
        LabelFont::graph(12, 400).draw(p, textLeft, y, rowHeight_, std::to_string(r->folded) + " lines, same. Click to show them.", c.area.width() - c.gutter);
        return;
    }
    const bool left = c.left || (diff && !sideBySide() && r->right < 0);
    const int line = lineOf(row, left);
    if (line < 0) {  // filler: the other side has a line here
        QColor hatch = t.line;
        p.fillRect(whole, t.sunken);
        p.setPen(hatch);
        for (int x = whole.left() - rowHeight_ + (whole.left() - row * rowHeight_) % 8; x < whole.right(); x += 8) p.drawLine(x, y + rowHeight_, x + rowHeight_, y);
        return;
    }
    Change change = r ? r->change : Change::Same;
    const DiffLook look = diffLook(t, change);
    const QRect body(textLeft - 6, y, c.area.right() - textLeft + 7, rowHeight_);
    if (change != Change::Same) p.fillRect(whole, look.tint);
    const bool linked = contains(left ? linkedLeft_ : linkedRight_, line), hovered = contains(left ? hoverLeft_ : hoverRight_, line);
    if (linked) p.fillRect(body, t.selection);
    else if (hovered) p.fillRect(body, t.hover);
    if (line == currentLine_ && left == (currentLeft_ && before_)) {
        p.fillRect(body.left(), y, body.width(), 1, t.frame);
        p.fillRect(body.left(), y + rowHeight_ - 1, body.width(), 1, t.frame);
    }
    if (linked) p.fillRect(textLeft - 6, y, 3, rowHeight_, t.accent);
    // gutter: mark and line number
    p.setFont(font_);
    if (change != Change::Same) {
        p.setPen(look.colour);
        p.drawText(QPointF(c.area.left() + 4, y + ascent_), QString(QLatin1Char(change == Change::Changed && before_ ? '~' : look.mark)));
    }
    p.setPen(linked ? t.text2 : t.muted);
    const QString number = QString::number(line + 1);
    p.drawText(QPointF(textLeft - 12 - double(number.size()) * cell_, y + ascent_), number);
    paintText(p, c, row, line, left, y);
}

void CodePane::paintText(QPainter& p, const Column& c, int row, int line, bool left, int y) const {
    const Theme& t = theme();
    const CodeDocument& doc = documentOf(left);
    const std::string_view text = doc.line(line);
    const int textLeft = c.area.left() + c.gutter;
    const double scroll = horizontalScrollBar()->value();
    const int firstCell = int(scroll / cell_), cells = int((c.area.right() - textLeft) / cell_) + 2;
    const uint32_t from = byteAtCell(text, firstCell), to = byteAtCell(text, firstCell + cells);
    p.save();
    p.setClipRect(QRect(textLeft, y, c.area.right() - textLeft + 1, rowHeight_), Qt::IntersectClip);
    auto xOf = [&](uint32_t byte) { return textLeft + cellAtByte(text, byte) * cell_ - scroll; };
    auto band = [&](uint32_t begin, uint32_t end, const QColor& colour) {
        p.fillRect(QRectF(xOf(begin), y, xOf(std::min<uint32_t>(end, uint32_t(text.size()))) - xOf(begin), rowHeight_).toAlignedRect(), colour);
    };
    // changed words
    if (before_ && !rows_.empty() && rows_[size_t(row)].change == Change::Changed) {
        const CodeRow& r = rows_[size_t(row)];
        std::vector<WordSpan> a, b;
        diffWords(before_->line(r.left), after_->line(r.right), a, b);
        for (const WordSpan& w : left ? a : b) band(w.begin, w.begin + w.length, left ? t.removedWord : t.addedWord);
    }
    for (auto hit = std::lower_bound(hits_.begin(), hits_.end(), line, [](const CodeHit& h, int l) { return h.line < l; }); !before_ && hit != hits_.end() && hit->line == line; ++hit)
        band(hit->begin, hit->begin + hit->length, int(hit - hits_.begin()) == currentHit_ ? t.movedTint.darker(t.dark ? 60 : 118) : t.movedTint);
    if (before_)
        for (size_t i = 0; i < hits_.size() && i < 2000; ++i)
            if (hits_[i].line == line && hits_[i].right != left) band(hits_[i].begin, hits_[i].begin + hits_[i].length, t.movedTint);
    if (from_.row >= 0 && from_ != to_ && (!sideBySide() || left == currentLeft_)) {
        const Mark a = std::min(from_, to_), b = std::max(from_, to_);
        if (row >= a.row && row <= b.row) {
            const uint32_t begin = row == a.row ? a.byte : 0;
            band(begin, row == b.row ? b.byte : uint32_t(text.size()), t.selection);
            if (row != b.row) p.fillRect(QRectF(xOf(uint32_t(text.size())), y, cell_, rowHeight_).toAlignedRect(), t.selection);
        }
    }
    auto draw = [&](uint32_t begin, uint32_t end, const QColor& colour, bool italic) {
        begin = std::max(begin, from);
        end = std::min(end, to);
        while (begin < end) {  // tabs only move on
            uint32_t stop = begin;
            while (stop < end && text[stop] != '\t') ++stop;
            if (stop > begin) {
                p.setPen(colour);
                p.setFont(italic ? italic_ : font_);
                p.drawText(QPointF(xOf(begin), y + ascent_), printable(text.substr(begin, stop - begin)));
            }
            begin = stop + 1;
        }
    };
    uint32_t at = from;
    for (const CodeToken& token : doc.tokens(line, from, to)) {
        if (token.begin > at) draw(at, token.begin, t.text, false);
        draw(std::max(at, token.begin), token.begin + token.length, tokenColour(t, token.kind), token.kind == TokenKind::Comment);
        at = std::max(at, token.begin + token.length);
    }
    draw(at, to, t.text, false);
    p.restore();
}

// The whole text in 10 px at the right: changes, linked lines, hits, and where the view is.
void CodePane::paintStrip(QPainter& p) const {
    const Theme& t = theme();
    const int width = stripWidth(), left = viewport()->width() - width, top = headerHeight(), height = viewport()->height() - top;
    p.fillRect(left, top, width, height, t.sunken);
    const double scale = std::min(double(height) / std::max(1, rowCount()), double(rowHeight_));
    auto tick = [&](int row, const QColor& colour, int inset) { p.fillRect(left + inset, top + int(row * scale), width - 2 * inset, std::max(2, int(scale)), colour); };
    for (size_t r = 0; r < rows_.size(); ++r)
        if (rows_[r].change != Change::Same) tick(int(r), diffLook(t, rows_[r].change).colour, 3);
    for (size_t i = 0; i < hits_.size() && i < 2000; ++i) tick(rowOfLine(hits_[i].line, !hits_[i].right), t.warning, 1);
    for (size_t i = 0; i < linkedRight_.size() && i < 2000; ++i) tick(rowOfLine(linkedRight_[i], false), t.accent, 1);
    const int page = verticalScrollBar()->pageStep();
    if (rowCount() > page) {
        QColor frame = t.frame;
        frame.setAlphaF(0.25f);
        p.fillRect(left, top + int(firstVisibleRow() * scale), width, std::max(6, int(page * scale)), frame);
    }
}

}  // namespace fw
