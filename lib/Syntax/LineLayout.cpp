//===- LineLayout.cpp - break one logical line ----------------------------===//
#include "LineLayout.h"
#include "stg/Syntax/Formatter.h"

#include "llvm/Support/Unicode.h"

namespace stg {

namespace {

class LineLayout {
public:
  LineLayout(llvm::ArrayRef<Piece> pieces, size_t indent, std::vector<OutLine> &out)
      : pieces_(pieces), indent_(indent), out_(out) {
    unsigned depth = 0;
    for (const Piece &piece : pieces) {
      depth -= piece.closes;
      depths_.push_back(depth);
      depth += piece.opens;
    }
  }

  void run() {
    startLine(indent_);
    tooLong_ = hasComments(pieces_) || indent_ + flatWidth(pieces_) > kFormatWidth;
    fill(0, pieces_.size(), 0);
    flush();
  }

private:
  /// Emits the pieces [begin, end), breaking at `depth` or deeper.
  void fill(size_t begin, size_t end, unsigned depth) {
    for (size_t start = begin; start < end;) {
      size_t stop = segmentEnd(start, end, depth);
      llvm::ArrayRef<Piece> segment = pieces_.slice(start, stop - start);
      size_t width = flatWidth(segment);
      bool free = !hasComments(segment);
      bool fits = free && column_ + (atStart_ ? 0 : segment.front().blankBefore) + width <= kFormatWidth;
      if (segment.front().leads && tooLong_ && !atStart_) {
        breakLine(segment.front());
        fits = free && column_ + width <= kFormatWidth;
      } else if (!fits && free && !atStart_ && continuation(segment.front()) + width <= kFormatWidth) {
        breakLine(segment.front());
        fits = true;
      }
      if (!fits && hasDeeper(start, stop, depth))
        fill(start, stop, depth + 1);
      else
        for (const Piece &piece : segment)
          emit(piece);
      start = stop;
    }
  }

  /// Behind the first place in [start, end) where a line may be broken at this depth.
  size_t segmentEnd(size_t start, size_t end, unsigned depth) const {
    for (size_t i = start; i < end; ++i) {
      if (depths_[i] != depth)
        continue;
      if (i > start && pieces_[i].breakBefore)
        return i;
      if (pieces_[i].breakAfter)
        return i + 1;
    }
    return end;
  }
  bool hasDeeper(size_t start, size_t stop, unsigned depth) const {
    for (size_t i = start; i < stop; ++i)
      if (depths_[i] > depth)
        return true;
    return false;
  }
  static bool hasComments(llvm::ArrayRef<Piece> segment) {
    for (size_t i = 0; i < segment.size(); ++i)
      if (!segment[i].above.empty() || (!segment[i].trailing.empty() && i + 1 < segment.size()))
        return true;
    return false;
  }

  /// Where a broken line goes on.
  size_t continuation(const Piece &piece) const {
    if (contents_.empty())
      return piece.hugsIndent ? indent_ : piece.leads ? indent_ + 5 : indent_ + (led_ ? 8 : 4);
    return contents_.back();
  }

  void emit(const Piece &piece) {
    if (!piece.above.empty()) {
      // The first line of a logical line has its comments put above it by the formatter.
      for (llvm::StringRef comment : piece.above) {
        breakLine(piece);
        line_.code += comment;
      }
      breakLine(piece);
    } else if (mustBreak_) {
      breakLine(piece);
    }
    if (piece.closes && !contents_.empty())
      contents_.pop_back();
    if (!atStart_ && piece.blankBefore) {
      line_.code += ' ';
      ++column_;
    }
    line_.code += piece.text;
    column_ += displayWidth(piece.text);
    atStart_ = false;
    mustBreak_ = false;
    led_ |= piece.leads;
    if (piece.opens) {
      // Far to the right there is no room left to fill.
      size_t inside = column_ + (piece.text == "{");
      contents_.push_back(inside > kFormatWidth * 2 / 3 ? indent_ + 4 : inside);
    }
    if (!piece.trailing.empty()) {
      line_.comment = piece.trailing.str();
      mustBreak_ = true;
      if (piece.opens)
        contents_.back() = (contents_.size() > 1 ? contents_[contents_.size() - 2] : indent_) + 4;
    }
  }

  void startLine(size_t column) {
    line_.code.assign(column, ' ');
    column_ = column;
    atStart_ = true;
    mustBreak_ = false;
  }
  void flush() {
    out_.push_back(std::move(line_));
    line_ = {};
  }
  void breakLine(const Piece &piece) {
    size_t column = continuation(piece);
    if (!(atStart_ && llvm::StringRef(line_.code).ltrim().empty()))
      flush();
    startLine(column);
  }

  llvm::ArrayRef<Piece> pieces_;
  size_t indent_;
  std::vector<OutLine> &out_;
  llvm::SmallVector<unsigned, 64> depths_;
  OutLine line_;
  size_t column_ = 0;
  /// The logical line does not fit on one.
  bool tooLong_ = false;
  /// A leading piece was emitted: the rest continues below what follows it.
  bool led_ = false;
  /// Nothing stands on the current line.
  bool atStart_ = true;
  /// A comment ends the current line.
  bool mustBreak_ = false;
  /// Columns at which the contents of the open brackets begin.
  llvm::SmallVector<size_t, 8> contents_;
};

} // namespace

size_t displayWidth(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : static_cast<size_t>(width);
}

size_t flatWidth(llvm::ArrayRef<Piece> pieces) {
  size_t width = 0;
  for (size_t i = 0; i < pieces.size(); ++i)
    width += displayWidth(pieces[i].text) + (i > 0 && pieces[i].blankBefore);
  return width;
}

void layOut(llvm::ArrayRef<Piece> pieces, size_t indent, std::vector<OutLine> &out) {
  LineLayout(pieces, indent, out).run();
}

} // namespace stg
