#include "engine/text/issue_text.h"

namespace trainmem {
namespace {

constexpr std::size_t longest = 40;

char printable(char c) { return c >= ' ' && c <= '~' ? c : '?'; }

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, longest)) out += printable(c);
  if (text.size() > longest) out += "...";
  out += '"';
  return out;
}

void append_pointer(std::string& pointer, std::string_view key) {
  pointer += '/';
  for (const char c : key.substr(0, longest)) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += printable(c);
    }
  }
}

}  // namespace trainmem
