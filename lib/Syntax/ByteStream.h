//===- ByteStream.h - ANTLR's input as bytes ------------------------------===//
// ANTLRInputStream would copy the text to code points, and token places would count those. Here they are byte offsets.
//===----------------------------------------------------------------------===//
#pragma once

#include "antlr4-runtime.h"

#include "llvm/ADT/StringRef.h"

namespace stg {

class ByteStream : public antlr4::CharStream {
public:
  explicit ByteStream(llvm::StringRef text) : text_(text) {}

  void consume() override { ++position_; }
  size_t LA(ssize_t i) override {
    size_t at = position_ + i - (i > 0 ? 1 : 0);
    return at < text_.size() ? static_cast<unsigned char>(text_[at]) : EOF;
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  size_t index() override { return position_; }
  void seek(size_t index) override { position_ = index; }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return "stg"; }
  std::string getText(const antlr4::misc::Interval &interval) override {
    return text_.slice(interval.a, interval.b + 1).str();
  }
  std::string toString() const override { return text_.str(); }

private:
  llvm::StringRef text_;
  size_t position_ = 0;
};

} // namespace stg
