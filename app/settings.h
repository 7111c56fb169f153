// What the window remembers between runs. Screenshots neither read nor write it, so that a picture depends on the command line only.
#pragma once
#include <QByteArray>
#include <QStringList>

#include <optional>

namespace fw {

class Settings {
public:
    explicit Settings(bool persistent) : persistent_(persistent) {}
    QByteArray geometry() const;
    QByteArray layout() const;                ///< empty when it was saved by another arrangement of docks
    void saveWindow(const QByteArray& geometry, const QByteArray& layout);
    std::optional<bool> dark() const;         ///< nothing: follow the desktop
    void setDark(bool);
    QStringList recent() const;               ///< newest first
    void addRecent(const QString& path);
    int threads() const;
    void setThreads(int);

private:
    bool persistent_;
};

}  // namespace fw
