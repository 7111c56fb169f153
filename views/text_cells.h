// Bytes of a line and cells of a monospaced row: a tab fills up to the next multiple of 8, a UTF-8 character takes one cell.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fw {

constexpr int kTabWidth = 8;
/// Lines above this length are taken as one byte a cell: drawing must not depend on the length of a line.
constexpr size_t kPlainCells = 20000;

inline bool isPlainLine(std::string_view line) {
    if (line.size() > kPlainCells) return true;
    for (unsigned char c : line)
        if (c == '\t' || c >= 0x80) return false;
    return true;
}
inline int cellAtByte(std::string_view line, uint32_t byte) {
    if (isPlainLine(line)) return int(byte);
    int cell = 0;
    for (uint32_t i = 0; i < byte && i < line.size(); ++i) {
        const auto c = static_cast<unsigned char>(line[i]);
        if (c == '\t') cell += kTabWidth - cell % kTabWidth;
        else if (c < 0x80 || c >= 0xC0) ++cell;
    }
    return cell;
}
/// The byte whose cell is at or after `cell`; the line's end when it is beyond it.
inline uint32_t byteAtCell(std::string_view line, int cell) {
    if (isPlainLine(line)) return uint32_t(cell < 0 ? 0 : size_t(cell) > line.size() ? line.size() : size_t(cell));
    int at = 0;
    for (uint32_t i = 0; i < line.size(); ++i) {
        const auto c = static_cast<unsigned char>(line[i]);
        if (c >= 0x80 && c < 0xC0) continue;
        if (at >= cell) return i;
        at += c == '\t' ? kTabWidth - at % kTabWidth : 1;
    }
    return uint32_t(line.size());
}

}  // namespace fw
