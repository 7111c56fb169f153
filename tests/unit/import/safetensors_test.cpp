// safetensors: what we write we read, and offsets that do not fit are named.
#include "core/import/safetensors.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/import/zip_writer.h"

namespace fw {
namespace {

using testing::HasSubstr;

class Safetensors : public testing::Test {
protected:
    std::string path_ = (std::filesystem::path(testing::TempDir()) / "fw_safetensors_test.safetensors").string();
    ~Safetensors() override { std::filesystem::remove(path_); }
    void write(const std::string& header, const std::string& data) {
        std::string bytes;
        test::put(bytes, header.size(), 8);
        std::ofstream(path_, std::ios::binary) << bytes << header << data;
    }
};

TEST_F(Safetensors, RoundTripsEveryDtypeAndShape) {
    std::map<std::string, Tensor> tensors;
    for (DType t : {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::F8E4M3FN}) {
        auto tensor = Tensor::zeros(t, {2, 3});
        for (int64_t i = 0; i < 6; ++i) tensor->set(i, double(i % 2));
        tensors[std::string(fxName(t))] = *tensor;
    }
    tensors["scalar"] = Tensor::scalar(DType::F32, 2.5);
    tensors["empty"] = *Tensor::zeros(DType::F32, {0, 4});
    tensors["transposed"] = tensors["f32"].asStrided({3, 2}, {1, 3}, 0);
    auto written = writeSafetensors(path_, tensors);
    ASSERT_TRUE(written.ok()) << written.error().line();
    auto read = readSafetensors(path_);
    ASSERT_TRUE(read.ok()) << read.error().line();
    ASSERT_EQ(read->size(), tensors.size());
    for (const auto& [name, t] : tensors) {
        const Tensor& r = read->at(name);
        EXPECT_EQ(r.dtype(), t.dtype()) << name;
        EXPECT_EQ(r.sizes(), t.sizes()) << name;
        for (int64_t i = 0; i < t.numel(); ++i) EXPECT_EQ(r.at(i), t.at(i)) << name << " " << i;
    }
    EXPECT_TRUE(read->at("f32").storage()->borrowed());
}

TEST_F(Safetensors, MalformedFilesNameTheTensor) {
    const std::string data(16, '\0');
    const std::pair<const char*, const char*> cases[] = {
        {R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,17]}})", "outside the file"},
        {R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[8,4]}})", "outside the file"},
        {R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[-4,12]}})", "outside the file"},
        {R"({"w":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}})", "its shape needs 20"},
        {R"({"w":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,16]}})", "impossible size"},
        {R"({"w":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})", "impossible size"},
        {R"({"w":{"dtype":"Q5","shape":[4],"data_offsets":[0,16]}})", "unknown dtype"},
        {R"({"w":7})", "unknown dtype"},
    };
    for (const auto& [header, message] : cases) {
        write(header, data);
        auto r = readSafetensors(path_);
        ASSERT_FALSE(r.ok()) << header;
        EXPECT_THAT(r.error().line(), HasSubstr(message));
        EXPECT_THAT(r.error().line(), HasSubstr(path_ + ", tensor w")) << header;
    }
    std::ofstream(path_, std::ios::binary) << std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}");
    EXPECT_FALSE(readSafetensors(path_).ok());
    std::ofstream(path_, std::ios::binary) << "abc";
    EXPECT_FALSE(readSafetensors(path_).ok());
    EXPECT_FALSE(readSafetensors(path_ + ".none").ok());
}

TEST_F(Safetensors, UnalignedDataIsCopied) {
    std::string data(1, 'x');
    const float value = 1.5f;
    data.append(reinterpret_cast<const char*>(&value), 4);
    write(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})", data);
    auto r = readSafetensors(path_);
    ASSERT_TRUE(r.ok()) << r.error().line();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(r->at("w").raw()) % 4, 0u);
    EXPECT_EQ(r->at("w").at(0), 1.5);
}

}  // namespace
}  // namespace fw
