// Durations, bytes and rates as people read them, with the unit chosen by size. One spelling in all views.
#pragma once
#include <QString>

namespace fw {
QString durationText(double seconds);  ///< "412 ns", "13.1 us", "2.40 ms", "1.25 s"
QString bytesText(double bytes);       ///< "512 B", "3.1 KiB", "12.0 MiB"
QString rateText(double bytesPerSecond);  ///< "12.3 GB/s"
QString countText(double n);           ///< "1.2 G", "3.4 M", "870"
}  // namespace fw
