// Reads one text, or two side by side: FX text, Loop IR, C++, LLVM IR, assembly. Lines that belong to the selected ops are banded. Read-only.
#pragma once
#include <QAbstractScrollArea>
#include <QFont>

#include <set>

#include "views/qobject_compare.h"
#include "views/code_model.h"
#include "views/selection.h"

class QLineEdit;
class QPainter;

namespace fw {

class CodePane : public QAbstractScrollArea {
    Q_OBJECT

public:
    /// With a selection, lines with ids take part in it: click selects the line's ids, hover bands them everywhere.
    explicit CodePane(Selection* = nullptr, QWidget* parent = nullptr);

    void setDocument(CodeDocumentPtr);
    void setDocument(std::string text, CodeLanguage, std::vector<std::pair<int, NodeId>> lineIds = {});
    /// Side by side with aligned rows; a pane under 700 px shows it unified. Equal documents show one text with a note.
    void setDiff(CodeDocumentPtr before, CodeDocumentPtr after);
    /// A sentence in place of text: "No kernel yet. Run the pipeline."
    void setMessage(const QString&);
    void setTitles(const QString& left, const QString& right);  ///< column headers of the diff

    CodeDocumentPtr document() const { return after_; }
    bool isDiff() const { return before_ != nullptr; }
    void setFolding(bool);                ///< fold equal runs of a diff; on by default
    void setLinked(std::vector<NodeId>);  ///< bands these ids' lines (done by itself when there is a selection)
    void goToLine(int line);              ///< 0-based, of the right document; centres it
    int currentLine() const { return currentLine_; }
    int firstVisibleRow() const;
    int rowCount() const;
    bool idle() const { return !comparing_; }

    int find(const QString& query);       ///< number of hits
    void findNext(int direction);
    void nextChange(int direction);       ///< F8 / Shift+F8
    void setTextSize(int px);             ///< 8 to 32
    void copySelection() const;           ///< the marked lines, or the current one
    QString selectedText() const;
    QString asText() const;               ///< what is shown: the text, or a unified diff

Q_SIGNALS:
    void lineActivated(int line, const std::vector<fw::NodeId>& ids);
    void hitsChanged(int hits, int current);

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void changeEvent(QEvent*) override;
    bool viewportEvent(QEvent*) override;
    void scrollContentsBy(int dx, int dy) override;

private:
    /// One text on the screen: the only one, or a half of a diff.
    struct Column { QRect area; int gutter = 0; bool left = false; };
    /// A place in the text: a row and a byte of its line.
    struct Mark {
        int row = -1;
        uint32_t byte = 0;
        friend auto operator<=>(const Mark&, const Mark&) = default;
    };

    void compare();
    void adoptDiff(CodeDiff);
    void rebuildRows();
    void updateMetrics();
    void updateScrollBars();
    std::vector<Column> columns() const;
    bool sideBySide() const;
    int headerHeight() const;
    const CodeDocument& documentOf(bool left) const { return left ? *before_ : *after_; }
    int lineOf(int row, bool left) const;      ///< -1 for filler and folded rows
    /// Single column of a diff: which side the row shows.
    bool showsLeft(int row) const;
    int rowAt(int y) const;
    int rowOfLine(int line, bool left) const;
    const Column* columnAt(const std::vector<Column>&, int x) const;
    Mark markAt(const Column&, const QPoint&) const;
    void showRow(int row, bool centre);
    void linkSelection();
    void linkHover();
    void activate(int row, bool left);
    void showFind();
    int stripWidth() const;

    void paintHeader(QPainter&) const;
    void paintRow(QPainter&, const Column&, int row, int y) const;
    void paintText(QPainter&, const Column&, int row, int line, bool left, int y) const;
    void paintStrip(QPainter&) const;

    Selection* selection_;
    CodeDocumentPtr before_, after_;
    CodeDiff diff_;
    std::vector<CodeRow> rows_;                ///< of a diff, folds opened and unified as shown; empty for one text
    std::vector<int> rowOfLeft_, rowOfRight_;  ///< by line; a folded line gives the row of its fold
    std::set<int> openedFolds_;                ///< by the right line that a fold starts at
    bool folding_ = true, comparing_ = false;
    uint64_t compareTag_ = 0;
    QString message_, leftTitle_, rightTitle_;
    std::vector<NodeId> linked_;
    std::vector<int> linkedLeft_, linkedRight_, hoverLeft_, hoverRight_;
    int currentLine_ = -1;
    bool currentLeft_ = false, dragging_ = false;
    Mark from_, to_;
    std::vector<CodeHit> hits_;
    int currentHit_ = -1;
    int textSize_ = 13, rowHeight_ = 18;
    double cell_ = 8, ascent_ = 12;
    QFont font_, italic_;
    QLineEdit* findField_ = nullptr;
};

}  // namespace fw
