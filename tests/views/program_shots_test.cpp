// The program itself: its pictures need no display, show something, and bad input ends with 2 and one line.
#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QFileInfo>
#include <QImage>
#include <QProcess>
#include <QProcessEnvironment>
#include <QTemporaryDir>

#include <set>

namespace fw {
namespace {

QString program() { return QCoreApplication::applicationDirPath() + QStringLiteral("/../app/fusewright"); }

struct Ended { int code = -1; QString errors; };
Ended runProgram(const QStringList& arguments) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(QString::fromLatin1(name));
    process.setProcessEnvironment(environment);
    process.start(program(), arguments);
    if (!process.waitForFinished(240000)) process.kill();
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, QString::fromUtf8(process.readAllStandardError())};
}

class Program : public testing::Test {
protected:
    void SetUp() override {
        if (!QFileInfo::exists(program())) GTEST_SKIP() << "the desktop is not built";
        ASSERT_TRUE(folder_.isValid());
    }
    QTemporaryDir folder_;
};

TEST_F(Program, TakesAPictureOfEveryView) {
    const QString sample = QStringLiteral(FW_SOURCE_DIR) + QStringLiteral("/samples/captures/layernorm_gelu/layernorm_gelu.pt2");
    for (const char* view : {"start", "graph", "code", "python", "kernels", "profile", "decisions"}) {
        const QString out = folder_.filePath(QString::fromLatin1(view) + QStringLiteral(".png"));
        const Ended end = runProgram({sample, QStringLiteral("--view"), QString::fromLatin1(view), QStringLiteral("--size"), QStringLiteral("1280x800"), QStringLiteral("--screenshot"), out});
        ASSERT_EQ(end.code, 0) << view << ": " << end.errors.toStdString();
        const QImage image(out);
        ASSERT_EQ(image.size(), QSize(1280, 800)) << view;
        std::set<QRgb> colours;
        for (int y = 0; y < image.height(); y += 5) for (int x = 0; x < image.width(); x += 5) colours.insert(image.pixel(x, y));
        EXPECT_GT(colours.size(), 20u) << view;
    }
}

TEST_F(Program, EndsWithTwoOnBadInput) {
    const QString out = folder_.filePath(QStringLiteral("x.png"));
    for (const QStringList& arguments : {QStringList{QStringLiteral("/no/such/file.pt2"), QStringLiteral("--screenshot"), out}, QStringList{QStringLiteral("--view"), QStringLiteral("nonsense")}, QStringList{QStringLiteral("--size"), QStringLiteral("big"), QStringLiteral("--screenshot"), out}, QStringList{}}) {
        const Ended end = runProgram(arguments);
        EXPECT_EQ(end.code, 2) << arguments.join(QLatin1Char(' ')).toStdString() << end.errors.toStdString();
        EXPECT_EQ(end.errors.count(QLatin1Char('\n')), 1) << end.errors.toStdString();
        EXPECT_TRUE(end.errors.startsWith(QStringLiteral("fusewright: "))) << end.errors.toStdString();
    }
}

}  // namespace
}  // namespace fw
