// Element types: names both ways, promotion, and narrow floats against their definition, exhaustively where 16 bits allow it.
#include "core/tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

using namespace fw;

TEST(DType, NamesReadBack) {
    for (int i = 0; i <= int(DType::F8E8M0FNU); ++i) {
        DType t = DType(i);
        EXPECT_EQ(dtypeFromFxName(fxName(t)), t);
        EXPECT_EQ(dtypeFromTorchName(torchName(t)), t);
        EXPECT_EQ(dtypeFromTorchName("torch." + std::string(torchName(t))), t);
    }
    EXPECT_EQ(dtypeFromExportCode(7), DType::F32);
    EXPECT_EQ(dtypeFromExportCode(12), DType::Bool);
    EXPECT_EQ(dtypeFromExportCode(-1), std::nullopt);
    EXPECT_EQ(dtypeFromFxName("f33"), std::nullopt);
}

TEST(DType, PromotesAsTorch) {
    EXPECT_EQ(promoteTypes(DType::U8, DType::I8), DType::I16);
    EXPECT_EQ(promoteTypes(DType::Bool, DType::U8), DType::U8);
    EXPECT_EQ(promoteTypes(DType::I64, DType::F16), DType::F16);
    EXPECT_EQ(promoteTypes(DType::F16, DType::BF16), DType::F32);
    EXPECT_EQ(promoteTypes(DType::F64, DType::C64), DType::C128);
    EXPECT_EQ(promoteTypes(DType::F32, DType::C64), DType::C64);
    EXPECT_EQ(promoteTypes(DType::I32, DType::U8), DType::I32);
    for (int a = 0; a <= int(DType::C128); ++a)
        for (int b = 0; b <= int(DType::C128); ++b) EXPECT_EQ(promoteTypes(DType(a), DType(b)), promoteTypes(DType(b), DType(a)));
}

TEST(DType, HalfRoundTripsAndRoundsToEven) {
    for (uint32_t h = 0; h < 0x10000; ++h) {
        float f = halfToFloat(uint16_t(h));
        if (std::isnan(f)) EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(f))));
        else EXPECT_EQ(floatToHalf(f), h);
    }
    // Halfway between every two neighbours goes to the even code.
    for (uint32_t h = 0; h < 0x7bff; ++h) {
        float middle = (halfToFloat(uint16_t(h)) + halfToFloat(uint16_t(h + 1))) / 2;
        EXPECT_EQ(floatToHalf(middle), h % 2 ? h + 1 : h);
    }
    EXPECT_EQ(floatToHalf(65519.0f), 0x7bff);
    EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
}

TEST(DType, Bf16RoundsToEven) {
    for (uint32_t b = 0; b < 0x10000; ++b) {
        float f = bf16ToFloat(uint16_t(b));
        if (std::isnan(f)) EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(f))));
        else EXPECT_EQ(floatToBf16(f), b);
    }
    EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
    EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
}

TEST(DType, EightBitFloats) {
    for (DType t : {DType::F8E4M3FN, DType::F8E5M2, DType::F8E4M3FNUZ, DType::F8E5M2FNUZ, DType::F8E8M0FNU})
        for (int b = 0; b < 256; ++b) {
            float f = f8ToFloat(t, uint8_t(b));
            if (std::isnan(f)) EXPECT_TRUE(std::isnan(f8ToFloat(t, floatToF8(t, f)))) << fxName(t) << ' ' << b;
            else EXPECT_EQ(floatToF8(t, f), b) << fxName(t);
        }
    EXPECT_EQ(f8ToFloat(DType::F8E4M3FN, 0x7e), 448.0f);
    EXPECT_EQ(f8ToFloat(DType::F8E5M2, 0x7b), 57344.0f);
    EXPECT_TRUE(std::isnan(f8ToFloat(DType::F8E4M3FN, floatToF8(DType::F8E4M3FN, 1e9f))));
}
