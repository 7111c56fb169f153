// Takes one picture of a window once nothing in it moves any more, then ends the program.
#pragma once
#include <QString>

namespace fw {

class MainWindow;

/// Exit codes of the event loop afterwards: 0, 2 when the window shows a problem (its line goes to stderr), 1 when it did not come to rest or the picture could not be written.
void screenshotWhenSettled(MainWindow*, const QString& path);

}  // namespace fw
