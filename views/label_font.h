// A font whose label widths are known without text layout: one advance per ASCII character. Painters measure and elide thousands of labels a frame.
#pragma once
#include <QFont>
#include <QString>

#include <array>
#include <string_view>

class QPainter;
class QRectF;

namespace fw {

class LabelFont {
public:
    explicit LabelFont(const QFont&);
    const QFont& font() const { return font_; }
    double width(std::string_view utf8) const;
    double ascent() const { return ascent_; }
    double height() const { return height_; }
    /// The text, cut with an ellipsis where it is wider than `room` px.
    QString elided(std::string_view utf8, double room) const;
    /// Draws with the baseline so that the text is centred in a row of the given top and height. Returns the width drawn.
    double draw(QPainter&, double x, double top, double rowHeight, std::string_view utf8, double room = 1e9) const;

    /// Per-thread caches: graphFont / monoFont of a size.
    static const LabelFont& graph(int px, int weight = 500);
    static const LabelFont& mono(int px, bool bold = false);

private:
    QFont font_;
    std::array<float, 128> advance_{};
    double ascent_ = 0, height_ = 0, other_ = 0, ellipsis_ = 0;
};

}  // namespace fw
