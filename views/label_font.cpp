// Advance tables per font; fonts are shared per thread, since workers paint tiles.
#include "views/label_font.h"

#include <QFontMetricsF>
#include <QPainter>

#include <map>

#include "views/theme.h"

namespace fw {

LabelFont::LabelFont(const QFont& font) : font_(font) {
    const QFontMetricsF metrics(font);
    for (int c = 32; c < 127; ++c) advance_[size_t(c)] = float(metrics.horizontalAdvance(QChar(c)));
    ascent_ = metrics.ascent();
    height_ = metrics.ascent() + metrics.descent();
    other_ = metrics.horizontalAdvance(QChar(u'n'));
    ellipsis_ = metrics.horizontalAdvance(QChar(0x2026));
}

double LabelFont::width(std::string_view text) const {
    double w = 0;
    for (unsigned char c : text) {
        if (c < 128) w += double(advance_[c]);
        else if (c >= 0xC0) w += other_;  // the first byte of a longer character
    }
    return w;
}

QString LabelFont::elided(std::string_view text, double room) const {
    if (width(text) <= room) return QString::fromUtf8(text.data(), qsizetype(text.size()));
    double w = ellipsis_;
    size_t keep = 0;
    for (size_t i = 0; i < text.size();) {
        const auto c = static_cast<unsigned char>(text[i]);
        const size_t bytes = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        w += c < 128 ? double(advance_[c]) : other_;
        if (w > room) break;
        i += bytes;
        keep = std::min(i, text.size());
    }
    return QString::fromUtf8(text.data(), qsizetype(keep)) + QChar(0x2026);
}

double LabelFont::draw(QPainter& p, double x, double top, double rowHeight, std::string_view text, double room) const {
    if (text.empty() || room <= ellipsis_) return 0;
    p.setFont(font_);
    p.drawText(QPointF(x, std::round(top + (rowHeight - height_) / 2 + ascent_)), elided(text, room));
    return std::min(width(text), room);
}

const LabelFont& LabelFont::graph(int px, int weight) {
    static thread_local std::map<std::pair<int, int>, LabelFont> fonts;
    return fonts.try_emplace({px, weight}, graphFont(px, weight)).first->second;
}

const LabelFont& LabelFont::mono(int px, bool bold) {
    static thread_local std::map<std::pair<int, bool>, LabelFont> fonts;
    return fonts.try_emplace({px, bold}, monoFont(px, bold)).first->second;
}

}  // namespace fw
