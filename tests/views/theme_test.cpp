// The look keeps its promises: contrast of every token, fonts that are the embedded ones.
#include "views/theme.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFontInfo>
#include <QPalette>

namespace fw {
namespace {

TEST(Theme, TextReadsOnItsBackground) {
    for (const Theme* t : {&lightTheme(), &darkTheme()}) {
        const std::string which = t->dark ? "dark" : "light";
        for (auto [name, colour] : {std::pair{"text", t->text}, {"text2", t->text2}, {"muted", t->muted}, {"accent", t->accent}, {"error", t->error}, {"warning", t->warning}, {"ok", t->ok},
                                    {"keyword", t->keyword}, {"type", t->typeName}, {"instruction", t->instruction}, {"value", t->valueName}, {"number", t->number}, {"string", t->string},
                                    {"metadata", t->metadata}, {"label", t->label}})
            EXPECT_GE(contrastRatio(colour, t->panel), 4.5) << name << " " << which;
        EXPECT_GE(contrastRatio(t->text, t->selection), 4.5) << which;
        EXPECT_GE(contrastRatio(t->text2, t->selection), 4.5) << which;
        EXPECT_GE(contrastRatio(t->text, t->hover), 4.5) << which;
        EXPECT_GE(contrastRatio(t->onAccent, t->accent), 4.5) << which;
        EXPECT_GE(contrastRatio(t->text, t->hullFill), 4.5) << which;
        EXPECT_GE(contrastRatio(t->frame, t->panel), 3) << which;
        EXPECT_GE(contrastRatio(t->disabled, t->panel), 3) << which;
        for (auto edge : {t->edgeFloat, t->edgeInt, t->edgeBool, t->edgeComplex}) EXPECT_GE(contrastRatio(edge, t->canvas), 4.5) << which;
        for (int f = 0; f < int(KindFamily::Count_); ++f) {
            EXPECT_GE(contrastRatio(familyColour(*t, KindFamily(f)), t->panel), 3) << familyName(KindFamily(f)) << " " << which;
            EXPECT_GE(contrastRatio(t->markInk, familyColour(*t, KindFamily(f))), 3) << familyName(KindFamily(f)) << " " << which;
        }
        for (Change c : {Change::Added, Change::Removed, Change::Changed, Change::Moved}) {
            const DiffLook look = diffLook(*t, c);
            EXPECT_GE(contrastRatio(look.colour, t->panel), 4.5) << look.name << " " << which;
            EXPECT_GE(contrastRatio(t->text, look.tint), 6.5) << look.name << " " << which;
            EXPECT_GE(contrastRatio(t->text, look.word), 4.5) << look.name << " " << which;
        }
        for (int i = 0; i <= 8; ++i) EXPECT_GE(contrastRatio(rampInk(heatColour(*t, i / 8.0)), heatColour(*t, i / 8.0)), 4.3) << i << " " << which;
    }
}

TEST(Theme, ContrastOfBlackAndWhite) { EXPECT_NEAR(contrastRatio(Qt::black, Qt::white), 21, 0.01); }

TEST(Theme, FontsAreTheEmbeddedOnes) {
    ASSERT_TRUE(loadFonts());
    EXPECT_EQ(QFontInfo(uiFont()).family(), QStringLiteral("Inter"));
    EXPECT_EQ(QFontInfo(monoFont()).family(), QStringLiteral("JetBrains Mono"));
    EXPECT_TRUE(QFontInfo(monoFont()).fixedPitch());
}

TEST(Theme, SwitchesPaletteAndBack) {
    const QColor light = qApp->palette().color(QPalette::Window);
    applyTheme(*qApp, true);
    EXPECT_TRUE(theme().dark);
    EXPECT_EQ(qApp->palette().color(QPalette::Window), darkTheme().panel);
    applyTheme(*qApp, false);
    EXPECT_EQ(qApp->palette().color(QPalette::Window), light);
}

TEST(Theme, EveryKindHasAFamily) {
    for (int k = 0; k <= int(OpKind::Opaque); ++k) EXPECT_LT(int(familyOf(OpKind(k))), int(KindFamily::Count_));
}

}  // namespace
}  // namespace fw
