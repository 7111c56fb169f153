// Pictures for the eye: when FW_SHOTS names a folder, tests write what they see there; otherwise nothing is written.
#pragma once
#include <QDir>
#include <QImage>
#include <QString>

inline void shot(const QImage& image, const QString& name) {
    const QString folder = qEnvironmentVariable("FW_SHOTS");
    if (folder.isEmpty()) return;
    QDir().mkpath(folder);
    image.save(folder + QLatin1Char('/') + name + QLatin1String(".png"));
}
