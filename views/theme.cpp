// Colours, fonts and palette of the program. Values come from tokens.def; their contrast is tested.
#include "views/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>

#include <cmath>

// Resources of a static library are dropped by the linker unless something names them.
static void initFontResources() {
    Q_INIT_RESOURCE(fonts);
}

namespace fw {

namespace {

Theme makeTheme(bool dark) {
    Theme t;
    t.dark = dark;
#define FW_TOKEN(name, light, darkValue) t.name = QColor(QRgb(dark ? darkValue : light) | 0xFF000000u);
#include "views/tokens.def"
#undef FW_TOKEN
    return t;
}

bool darkNow = false;

/// Fusion with a visible keyboard focus ring, wider splitter grips, and rows of the same height everywhere.
class WorkbenchStyle : public QProxyStyle {
public:
    WorkbenchStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override {
        switch (metric) {
        case PM_SplitterWidth: return spacing::splitter;
        case PM_DockWidgetSeparatorExtent: return spacing::splitter;
        case PM_SmallIconSize:
        case PM_ToolBarIconSize:
        case PM_ListViewIconSize: return spacing::icon;
        case PM_ScrollBarExtent: return 12;
        case PM_TabBarTabVSpace: return 12;
        case PM_TabBarTabHSpace: return 24;
        default: return QProxyStyle::pixelMetric(metric, option, widget);
        }
    }

    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const override {
        if (element == PE_FrameFocusRect) {
            const auto* focus = qstyleoption_cast<const QStyleOptionFocusRect*>(option);
            if (focus && !(focus->state & State_KeyboardFocusChange)) return;
            painter->save();
            painter->setRenderHint(QPainter::Antialiasing);
            painter->setPen(QPen(theme().focusRing, 2));
            painter->setBrush(Qt::NoBrush);
            painter->drawRoundedRect(QRectF(option->rect).adjusted(1, 1, -1, -1), spacing::corner - 1, spacing::corner - 1);
            painter->restore();
            return;
        }
        QProxyStyle::drawPrimitive(element, option, painter, widget);
    }

    QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size, const QWidget* widget) const override {
        QSize s = QProxyStyle::sizeFromContents(type, option, size, widget);
        if (type == CT_ItemViewItem) s.setHeight(std::max(s.height(), spacing::rowCompact));
        if (type == CT_MenuItem) s.setHeight(std::max(s.height(), spacing::minimumTarget));
        if (type == CT_ToolButton) s = s.expandedTo(QSize(spacing::toolButton, spacing::toolButton));
        return s;
    }
};

QPalette paletteOf(const Theme& t) {
    QPalette p;
    auto set = [&](QPalette::ColorRole role, const QColor& c) { p.setColor(role, c); };
    set(QPalette::Window, t.panel);
    set(QPalette::WindowText, t.text);
    set(QPalette::Base, t.panel);
    set(QPalette::AlternateBase, t.sunken);
    set(QPalette::Text, t.text);
    set(QPalette::Button, t.dark ? t.hover : t.sunken);
    set(QPalette::ButtonText, t.text);
    set(QPalette::BrightText, t.error);
    set(QPalette::ToolTipBase, t.dark ? t.hover : t.panel);
    set(QPalette::ToolTipText, t.text);
    set(QPalette::PlaceholderText, t.muted);
    set(QPalette::Highlight, t.selection);
    set(QPalette::HighlightedText, t.text);
    set(QPalette::Link, t.accent);
    set(QPalette::LinkVisited, t.keyword);
    set(QPalette::Light, t.dark ? t.pressed : t.panel);
    set(QPalette::Midlight, t.hover);
    set(QPalette::Mid, t.line);
    set(QPalette::Dark, t.dark ? t.sunken : t.frame);
    set(QPalette::Shadow, t.dark ? QColor(Qt::black) : t.frame);
    for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText})
        p.setColor(QPalette::Disabled, role, t.disabled);
    p.setColor(QPalette::Disabled, QPalette::Highlight, t.pressed);
    return p;
}

double linear(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }
double luminance(const QColor& c) { return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF()); }

QColor rampAt(const std::array<QRgb, 9>& stops, double t) {
    t = std::isfinite(t) ? std::clamp(t, 0.0, 1.0) * 8 : 0;
    int i = std::min(int(t), 7);
    QColor a(stops[size_t(i)]), b(stops[size_t(i + 1)]);
    double f = t - i;
    return QColor::fromRgbF(float(a.redF() + (b.redF() - a.redF()) * f), float(a.greenF() + (b.greenF() - a.greenF()) * f),
                            float(a.blueF() + (b.blueF() - a.blueF()) * f));
}

}  // namespace

const Theme& lightTheme() {
    static const Theme t = makeTheme(false);
    return t;
}
const Theme& darkTheme() {
    static const Theme t = makeTheme(true);
    return t;
}
const Theme& theme() { return darkNow ? darkTheme() : lightTheme(); }

void applyTheme(QApplication& app, bool dark) {
    loadFonts();
    darkNow = dark;
    // Setting the style again would reset what widgets cached; the palette alone switches themes.
    if (!dynamic_cast<WorkbenchStyle*>(QApplication::style())) QApplication::setStyle(new WorkbenchStyle);
    app.setFont(uiFont());
    QApplication::setPalette(paletteOf(theme()));
}

bool desktopIsDark() {
    const QPalette p;
    return p.color(QPalette::Window).lightness() < p.color(QPalette::WindowText).lightness();
}

bool loadFonts() {
    static const bool loaded = [] {
        initFontResources();
        bool all = true;
        for (const char* file : {"Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf", "JetBrainsMono-Regular.ttf", "JetBrainsMono-Italic.ttf",
                                 "JetBrainsMono-Bold.ttf"})
            all = QFontDatabase::addApplicationFont(QStringLiteral(":/fonts/") + QLatin1String(file)) >= 0 && all;
        return all;
    }();
    return loaded;
}

QFont uiFont(int px, int weight) {
    QFont f(QStringList{QStringLiteral("Inter"), QStringLiteral("DejaVu Sans")});
    f.setPixelSize(px);
    f.setWeight(QFont::Weight(weight));
    f.setHintingPreference(QFont::PreferNoHinting);
    f.setStyleStrategy(QFont::NoSubpixelAntialias);
    return f;
}

QFont monoFont(int px, bool bold, bool italic) {
    QFont f(QStringList{QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono")});
    f.setPixelSize(px);
    f.setBold(bold);
    f.setItalic(italic);
    f.setFixedPitch(true);
    f.setKerning(false);
    f.setHintingPreference(QFont::PreferNoHinting);
    f.setStyleStrategy(QFont::StyleStrategy(QFont::PreferNoShaping | QFont::NoSubpixelAntialias));
    return f;
}

QFont graphFont(int px, int weight) {
    QFont f = uiFont(px, weight);
    f.setKerning(false);
    f.setStyleStrategy(QFont::StyleStrategy(QFont::PreferNoShaping | QFont::NoSubpixelAntialias));
    return f;
}

KindFamily familyOf(OpKind kind) {
    switch (kind) {
    case OpKind::Pointwise: return KindFamily::Pointwise;
    case OpKind::Reduction:
    case OpKind::Scan:
    case OpKind::Pool:
    case OpKind::Norm: return KindFamily::Reduction;
    case OpKind::View: return KindFamily::View;
    case OpKind::Matmul:
    case OpKind::Convolution: return KindFamily::Matmul;
    case OpKind::Creation:
    case OpKind::Sort:
    case OpKind::Gather:
    case OpKind::Scatter:
    case OpKind::Mutation: return KindFamily::Memory;
    case OpKind::Random: return KindFamily::Random;
    case OpKind::Symbolic:
    case OpKind::Control: return KindFamily::Control;
    case OpKind::Composite: return KindFamily::Library;
    case OpKind::Opaque: return KindFamily::Opaque;
    }
    return KindFamily::Opaque;
}

std::string_view familyName(KindFamily f) {
    static constexpr std::string_view names[] = {"pointwise", "reduction", "view", "matmul, conv", "memory", "random", "control, symbolic", "composite", "opaque"};
    return f < KindFamily::Count_ ? names[size_t(f)] : names[8];
}

QColor familyColour(const Theme& t, KindFamily f) {
    switch (f) {
    case KindFamily::Pointwise: return t.kindPointwise;
    case KindFamily::Reduction: return t.kindReduction;
    case KindFamily::View: return t.kindView;
    case KindFamily::Matmul: return t.kindMatmul;
    case KindFamily::Memory: return t.kindMemory;
    case KindFamily::Random: return t.kindRandom;
    case KindFamily::Control: return t.kindControl;
    case KindFamily::Library: return t.kindLibrary;
    case KindFamily::Opaque:
    case KindFamily::Count_: break;
    }
    return t.kindOpaque;
}

// Marks are drawn on a grid of 10 x 10.
void drawFamilyMark(QPainter& p, const QRectF& square, KindFamily family, const QColor& ink) {
    p.save();
    p.setRenderHint(QPainter::Antialiasing);
    p.translate(square.topLeft());
    p.scale(square.width() / 10, square.height() / 10);
    p.setPen(Qt::NoPen);
    p.setBrush(ink);
    switch (family) {
    case KindFamily::Pointwise: p.drawEllipse(QRectF(2, 2, 6, 6)); break;
    case KindFamily::Reduction: p.drawPolygon(QPolygonF({{0.5, 1}, {9.5, 1}, {6, 5.5}, {6, 9.5}, {4, 9.5}, {4, 5.5}})); break;
    case KindFamily::View:
        p.setBrush(Qt::NoBrush);
        p.setPen(QPen(ink, 1.2));
        p.drawRect(QRectF(1, 1, 5.5, 5.5));
        p.drawRect(QRectF(3.5, 3.5, 5.5, 5.5));
        break;
    case KindFamily::Matmul:
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 3; ++x) p.drawRect(QRectF(0.5 + x * 3.3, 0.5 + y * 3.3, 2.4, 2.4));
        break;
    case KindFamily::Memory:
        p.drawRect(QRectF(1, 8, 8, 1.4));
        p.drawRect(QRectF(4.2, 0.5, 1.6, 4));
        p.drawPolygon(QPolygonF({{2, 3.8}, {8, 3.8}, {5, 7.4}}));
        break;
    case KindFamily::Random:
        p.setBrush(Qt::NoBrush);
        p.setPen(QPen(ink, 1.2));
        p.drawRect(QRectF(0.8, 0.8, 8.4, 8.4));
        p.setPen(Qt::NoPen);
        p.setBrush(ink);
        for (double at : {2.8, 5.0, 7.2}) p.drawEllipse(QPointF(at, at), 1.0, 1.0);
        break;
    case KindFamily::Control: p.drawPolygon(QPolygonF({{5, 0.5}, {9.5, 5}, {5, 9.5}, {0.5, 5}})); break;
    case KindFamily::Library:
        p.drawRect(QRectF(1.5, 3.6, 7, 3));
        p.drawRect(QRectF(2.6, 0.6, 1.4, 3));
        p.drawRect(QRectF(6, 0.6, 1.4, 3));
        p.drawRect(QRectF(4.3, 6.6, 1.4, 3));
        break;
    case KindFamily::Opaque:
    case KindFamily::Count_:
        p.drawRect(QRectF(4.1, 1, 1.8, 5.2));
        p.drawRect(QRectF(4.1, 7.4, 1.8, 1.8));
        break;
    }
    p.restore();
}

DiffLook diffLook(const Theme& t, Change change) {
    switch (change) {
    case Change::Added: return {t.added, t.addedTint, t.addedWord, '+', "added"};
    case Change::Removed: return {t.removed, t.removedTint, t.removedWord, '-', "removed"};
    case Change::Changed: return {t.changed, t.changedTint, t.changedTint, '~', "changed"};
    case Change::Moved: return {t.moved, t.movedTint, t.movedTint, '>', "moved"};
    case Change::Same: break;
    }
    return {t.frame, t.panel, t.panel, ' ', "same"};
}

double contrastRatio(const QColor& a, const QColor& b) {
    double la = luminance(a), lb = luminance(b);
    if (la < lb) std::swap(la, lb);
    return (la + 0.05) / (lb + 0.05);
}

QColor heatColour(const Theme& t, double x) {
    static constexpr std::array<QRgb, 9> light{0xFFF9F6DF, 0xFFEDDBA8, 0xFFE4BD76, 0xFFDB9D4A, 0xFFCF7D23, 0xFFBA5B01, 0xFFA84309, 0xFF90280E, 0xFF721216};
    static constexpr std::array<QRgb, 9> dark{0xFF381E1C, 0xFF5E291C, 0xFF813713, 0xFF9E4E06, 0xFFB56A0C, 0xFFCC860E, 0xFFE1A415, 0xFFEDC650, 0xFFF7E785};
    return rampAt(t.dark ? dark : light, x);
}

QColor rampInk(const QColor& background) {
    const QColor white(Qt::white), black(0x0E, 0x11, 0x16);
    return contrastRatio(background, white) >= contrastRatio(background, black) ? white : black;
}

QColor divergingColour(const Theme& t, double x) {
    static constexpr std::array<QRgb, 9> light{0xFF035A9C, 0xFF4380BC, 0xFF7EA6CF, 0xFFB7CBE1, 0xFFF2F2F2, 0xFFDEC2B4, 0xFFC89477, 0xFFB06639, 0xFF8B3F01};
    static constexpr std::array<QRgb, 9> dark{0xFF89C3FF, 0xFF5C9AD8, 0xFF4C7299, 0xFF3B4C5E, 0xFF292929, 0xFF5B4538, 0xFF926246, 0xFFCC8053, 0xFFFEA572};
    return rampAt(t.dark ? dark : light, (std::isfinite(x) ? std::clamp(x, -1.0, 1.0) : 0) / 2 + 0.5);
}

}  // namespace fw
