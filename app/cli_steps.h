// One line per step and per decision, as the steps command and the tour print them.
#pragma once
#include <string>

#include "core/pipeline/trace.h"

namespace fw {
std::string stepLine(const Step&);
std::string decisionLine(const Decision&);
}
