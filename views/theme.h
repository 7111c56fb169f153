// The look: colour tokens of both themes, the embedded fonts, spacing. Every view paints with these and nothing else.
#pragma once
#include <QColor>
#include <QFont>

#include <array>
#include <string_view>

#include "core/graph/graph_diff.h"
#include "core/graph/op_schema.h"

class QApplication;
class QPainter;
class QRectF;

namespace fw {

/// All colours of one theme. Names and values: tokens.def.
struct Theme {
    bool dark = false;
#define FW_TOKEN(name, light, darkValue) QColor name;
#include "views/tokens.def"
#undef FW_TOKEN
};
const Theme& lightTheme();
const Theme& darkTheme();
/// The theme in use; changes only through applyTheme. Read it in paint, and repaint on QEvent::PaletteChange.
const Theme& theme();
/// Fusion style, palette, fonts and focus ring of the whole program. Callable again at any time to switch.
void applyTheme(QApplication&, bool dark);
/// True when the desktop's own palette is dark (used for the first start).
bool desktopIsDark();

/// Registers the embedded fonts once; false when the resources are missing from the program. applyTheme calls it.
bool loadFonts();
/// Inter. Sizes in px at 96 dpi: 11 caption, 12 graph label, 13 body, 15 section, 20 page title, 28 start page. Weight 400, 500 or 600.
QFont uiFont(int px = 13, int weight = 400);
/// JetBrains Mono without shaping and kerning: code, numbers, shapes. All number columns use it (Inter's digits are proportional).
QFont monoFont(int px = 13, bool bold = false, bool italic = false);
/// Inter without shaping and kerning, for painters that draw thousands of labels.
QFont graphFont(int px = 12, int weight = 500);

/// 4 px grid.
namespace spacing {
constexpr int xs = 4, s = 8, m = 12, l = 16, xl = 24, xxl = 32;
constexpr int row = 28, rowCompact = 22, codeLine = 18, toolButton = 28, icon = 16, corner = 4, splitter = 5, minimumTarget = 24;
}  // namespace spacing

/// The nine families that nodes are coloured and marked by.
enum class KindFamily : uint8_t { Pointwise, Reduction, View, Matmul, Memory, Random, Control, Library, Opaque, Count_ };
KindFamily familyOf(OpKind);
std::string_view familyName(KindFamily);  ///< "pointwise", "reduction", "view", "matmul, conv", ...
QColor familyColour(const Theme&, KindFamily);
/// The family's mark as a path in the given square, in the given ink. The mark carries the meaning, colour only speeds it up.
void drawFamilyMark(QPainter&, const QRectF& square, KindFamily, const QColor& ink);

struct DiffLook {
    QColor colour, tint, word;  ///< frame and mark; line background; background of changed words
    char mark;                  ///< '+', '-', '~', '>' or ' '
    std::string_view name;      ///< "added", ...
};
DiffLook diffLook(const Theme&, Change);

/// WCAG contrast ratio, 1 to 21.
double contrastRatio(const QColor&, const QColor&);
/// Heat ramp of the theme, t in [0, 1]: more is more contrast to the background. Ink that reads on it: rampInk.
QColor heatColour(const Theme&, double t);
QColor rampInk(const QColor& background);
/// Faster (negative) | same | slower (positive), t in [-1, 1].
QColor divergingColour(const Theme&, double t);

}  // namespace fw
