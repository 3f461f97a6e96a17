#include "engine/json_lexer.h"

#include "engine/decimal.h"
#include "engine/json_writer.h"

namespace trainmem {
namespace {

constexpr std::size_t most_digits = 19;  // of an integer

void append_utf8(std::string& text, unsigned code) {
  const auto put = [&text](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80U) return put(code);
  if (code < 0x800U) {
    put(0xC0U | code >> 6U);
  } else {
    if (code < 0x10000U) {
      put(0xE0U | code >> 12U);
    } else {
      put(0xF0U | code >> 18U);
      put(0x80U | (code >> 12U & 0x3FU));
    }
    put(0x80U | (code >> 6U & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

}  // namespace

JsonLexer::JsonLexer(std::string_view text) : text_(text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;  // a byte order mark
}

int JsonLexer::read() {
  if (at_ < text_.size()) return static_cast<unsigned char>(text_[at_++]);
  ended_ = true;
  return -1;
}

bool JsonLexer::accept(char c) {
  const bool here = at_ < text_.size() && text_[at_] == c;
  if (here) ++at_;
  return here;
}

JsonToken JsonLexer::next() {
  while (accept(' ') || accept('\n') || accept('\r') || accept('\t')) {
  }
  start_ = at_;
  switch (const int c = read()) {
    case -1: return JsonToken::end;
    case '[':
    case ']':
    case '{':
    case '}':
    case ':':
    case ',': return JsonToken::mark;
    case 't': return word("rue", JsonToken::boolean);
    case 'f': return word("alse", JsonToken::boolean);
    case 'n': return word("ull", JsonToken::null);
    case '"': return read_text();
    default: {
      if (c != '-' && (c < '0' || c > '9')) return JsonToken::wrong;
      --at_;
      return read_number();
    }
  }
}

JsonToken JsonLexer::word(std::string_view rest, JsonToken token) {
  for (const char c : rest)
    if (read() != c) return JsonToken::wrong;
  return token;
}

/// One digit or more.
bool JsonLexer::digits() {
  const int first = read();
  if (first < '0' || first > '9') return false;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  return true;
}

JsonToken JsonLexer::read_number() {
  const bool negative = accept('-');
  if (!accept('0') && !digits()) return JsonToken::wrong;
  bool whole = true;
  if (accept('.')) {
    whole = false;
    if (!digits()) return JsonToken::wrong;
  }
  if (accept('e') || accept('E')) {
    whole = false;
    if (!accept('+')) accept('-');
    if (!digits()) return JsonToken::wrong;
  }
  const std::string_view magnitude = raw().substr(negative ? 1 : 0);
  if (whole && magnitude.size() <= most_digits) {
    std::uint64_t value = 0;
    for (const char c : magnitude) value = value * 10 + static_cast<std::uint64_t>(c - '0');
    const std::uint64_t limit = static_cast<std::uint64_t>(INT64_MAX) + (negative ? 1 : 0);
    if (value <= limit) {
      integer_ = static_cast<std::int64_t>(negative ? 0 - value : value);
      number_ = static_cast<double>(integer_);
      return JsonToken::integer;
    }
  }
  number_ = read_decimal(raw());
  return number_ - number_ == 0 ? JsonToken::number : JsonToken::too_large;
}

JsonToken JsonLexer::read_text() {
  string_.clear();
  for (;;) {
    const int c = read();
    if (c == '"') return JsonToken::text;
    if (c < ' ') return JsonToken::wrong;
    if (c == '\\') {
      if (!read_escape()) return JsonToken::wrong;
      continue;
    }
    const int length = utf8_length(text_.substr(at_ - 1));
    if (length == 0) return JsonToken::wrong;
    string_ += text_.substr(at_ - 1, static_cast<std::size_t>(length));
    at_ += static_cast<std::size_t>(length - 1);
  }
}

bool JsonLexer::read_escape() {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const int c = read();
  if (c != 'u') {
    const std::size_t found = c < 0 ? std::string_view::npos : letters.find(static_cast<char>(c));
    if (found == std::string_view::npos) return false;
    string_ += meanings[found];
    return true;
  }
  const int unit = read_code_unit();
  if (unit < 0 || (unit >= 0xDC00 && unit < 0xE000)) return false;
  auto code = static_cast<unsigned>(unit);
  if (unit >= 0xD800 && unit < 0xDC00) {  // the first half of a pair
    if (read() != '\\' || read() != 'u') return false;
    const int second = read_code_unit();
    if (second < 0xDC00 || second >= 0xE000) return false;
    code = 0x10000U + ((code & 0x3FFU) << 10U) + (static_cast<unsigned>(second) & 0x3FFU);
  }
  append_utf8(string_, code);
  return true;
}

/// Four hexadecimal digits; -1: something else.
int JsonLexer::read_code_unit() {
  int unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int c = read();
    const int letter = c | 0x20;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c > 0 && letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

}  // namespace trainmem
