// The screen of a terminal after the bytes that a program wrote to it.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::testing {

// The part of a terminal that Muster uses: text with wrapping at the right edge, scrolling, \r, \n,
// and the sequences for cursor up, erase line and erase below. Anything else is an error.
class VirtualScreen {
 public:
  VirtualScreen(size_t columns, size_t rows);

  void Write(absl::string_view bytes);
  // The text that scrolled away and the visible text, without blanks at the ends of lines and below
  // the last one.
  std::string Text() const;
  // "": everything was understood.
  const std::string& error() const { return error_; }

 private:
  void Put(std::string character);
  void LineFeed();
  void Obey(absl::string_view sequence);
  bool IsWhole(absl::string_view bytes) const;

  const size_t columns_, rows_;
  std::vector<std::string> gone_;
  std::vector<std::vector<std::string>> cells_;  // a character each; "": blank
  size_t row_ = 0, column_ = 0;
  std::string rest_;  // of an incomplete sequence or character
  std::string error_;
};

}  // namespace muster::testing
