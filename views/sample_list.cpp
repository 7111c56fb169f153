// See sample_list.h.
#include "views/sample_list.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace fw {
namespace {

QString aboutCapture(const QString& folder) {
    QFile file(folder + QStringLiteral("/info.json"));
    if (!file.open(QIODevice::ReadOnly)) return {};
    const QJsonObject info = QJsonDocument::fromJson(file.read(1 << 20)).object();
    int ops = 0;
    const QJsonObject counts = info.value(QStringLiteral("ops")).toObject();
    for (const QString& op : counts.keys()) ops += counts.value(op).toInt();
    QString text = ops ? QStringLiteral("%1 ops").arg(ops) : QString();
    const QJsonArray shape = info.value(QStringLiteral("inputs")).toArray().first().toObject().value(QStringLiteral("shape")).toArray();
    QStringList sizes;
    for (const QJsonValue& v : shape) sizes += v.isString() ? v.toString() : QString::number(v.toInt());
    if (!sizes.isEmpty()) text += (text.isEmpty() ? QString() : QStringLiteral(", ")) + QStringLiteral("input ") + sizes.join(QLatin1Char('x'));
    return text;
}

}  // namespace

QString findSamplesFolder(const QString& start) {
    for (QDir dir(start); ; ) {
        if (QFileInfo(dir.filePath(QStringLiteral("samples/captures"))).isDir()) return dir.filePath(QStringLiteral("samples"));
        if (!dir.cdUp()) return {};
    }
}

std::vector<Sample> listSamples(const QString& folder) {
    std::vector<Sample> out;
    if (folder.isEmpty()) return out;
    const QDir models(folder + QStringLiteral("/models"));
    for (const QFileInfo& f : models.entryInfoList({QStringLiteral("*.pt2")}, QDir::Files, QDir::Name))
        out.push_back({f.completeBaseName(), f.absoluteFilePath(), QStringLiteral("whole model, synthetic weights"), true});
    const QDir captures(folder + QStringLiteral("/captures"));
    for (const QFileInfo& f : captures.entryInfoList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name)) {
        const QString file = f.absoluteFilePath() + QLatin1Char('/') + f.fileName() + QStringLiteral(".pt2");
        if (QFileInfo::exists(file)) out.push_back({f.fileName(), file, aboutCapture(f.absoluteFilePath()), false});
    }
    return out;
}

}  // namespace fw
