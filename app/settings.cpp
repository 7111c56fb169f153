// See settings.h.
#include "app/settings.h"

#include <QFileInfo>
#include <QSettings>

namespace fw {
namespace {
// Raise when docks are added or renamed: a layout of another arrangement would come back stacked.
constexpr int kLayoutVersion = 1;
constexpr int kMostRecent = 9;  // Ctrl+1 to Ctrl+9 in the File menu
QString layoutKey() { return QStringLiteral("window/layout%1").arg(kLayoutVersion); }
}  // namespace

QByteArray Settings::geometry() const { return persistent_ ? QSettings().value(QStringLiteral("window/geometry")).toByteArray() : QByteArray(); }
QByteArray Settings::layout() const { return persistent_ ? QSettings().value(layoutKey()).toByteArray() : QByteArray(); }

void Settings::saveWindow(const QByteArray& geometry, const QByteArray& layout) {
    if (!persistent_) return;
    QSettings s;
    s.setValue(QStringLiteral("window/geometry"), geometry);
    if (!layout.isEmpty()) s.setValue(layoutKey(), layout);
}

std::optional<bool> Settings::dark() const {
    if (!persistent_) return std::nullopt;
    const QVariant v = QSettings().value(QStringLiteral("theme"));
    if (!v.isValid()) return std::nullopt;
    return v.toString() == QLatin1String("dark");
}
void Settings::setDark(bool dark) {
    if (persistent_) QSettings().setValue(QStringLiteral("theme"), dark ? QStringLiteral("dark") : QStringLiteral("light"));
}

QStringList Settings::recent() const { return persistent_ ? QSettings().value(QStringLiteral("recent")).toStringList() : QStringList(); }
void Settings::addRecent(const QString& path) {
    if (!persistent_) return;
    QStringList all = recent();
    const QString absolute = QFileInfo(path).absoluteFilePath();
    all.removeAll(absolute);
    all.prepend(absolute);
    QSettings().setValue(QStringLiteral("recent"), all.mid(0, kMostRecent));
}

int Settings::threads() const { return persistent_ ? QSettings().value(QStringLiteral("threads"), 1).toInt() : 1; }
void Settings::setThreads(int n) { if (persistent_) QSettings().setValue(QStringLiteral("threads"), n); }

}  // namespace fw
