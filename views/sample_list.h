// The samples that a start page offers with one click: small captures and models found in the samples folder. No widgets.
#pragma once
#include <QString>

#include <vector>

namespace fw {

struct Sample {
    QString name, path, about;   ///< "layernorm_gelu", its .pt2, "9 ops, f32 32x128"
    bool model = false;          ///< a whole model; else a small capture
};
/// The folder named samples nearest above `start` that holds captures; empty when there is none.
QString findSamplesFolder(const QString& start);
/// Models first, then captures by name. A folder without a .pt2 is left out; a broken info.json only costs its sentence.
std::vector<Sample> listSamples(const QString& folder);

}  // namespace fw
