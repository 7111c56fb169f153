// See quantity_text.h. Three significant digits: more would be noise in a measured time.
#include "views/quantity_text.h"

#include <cmath>

namespace fw {
namespace {

QString scaled(double v, const QString& unit) {
    const int decimals = std::abs(v) >= 100 ? 0 : std::abs(v) >= 10 ? 1 : 2;
    return QString::number(v, 'f', decimals) + QLatin1Char(' ') + unit;
}

}  // namespace

QString durationText(double s) {
    if (!std::isfinite(s)) return QStringLiteral("-");
    if (s < 1e-6) return scaled(s * 1e9, QStringLiteral("ns"));
    if (s < 1e-3) return scaled(s * 1e6, QStringLiteral("us"));
    if (s < 1) return scaled(s * 1e3, QStringLiteral("ms"));
    return scaled(s, QStringLiteral("s"));
}

QString bytesText(double b) {
    if (b < 1024) return QString::number(b, 'f', 0) + QStringLiteral(" B");
    if (b < 1024.0 * 1024) return scaled(b / 1024, QStringLiteral("KiB"));
    if (b < 1024.0 * 1024 * 1024) return scaled(b / (1024.0 * 1024), QStringLiteral("MiB"));
    return scaled(b / (1024.0 * 1024 * 1024), QStringLiteral("GiB"));
}

QString rateText(double r) { return scaled(r / 1e9, QStringLiteral("GB/s")); }

QString countText(double n) {
    if (n >= 1e9) return scaled(n / 1e9, QStringLiteral("G"));
    if (n >= 1e6) return scaled(n / 1e6, QStringLiteral("M"));
    if (n >= 1e3) return scaled(n / 1e3, QStringLiteral("k"));
    return QString::number(n, 'f', 0);
}

}  // namespace fw
