// JSON text as tokens (RFC 8259), read strictly: valid UTF-8, no control characters in texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainmem {

enum class JsonToken : std::uint8_t { wrong, too_large, end, null, boolean, integer, number, text, mark };

class JsonLexer {
 public:
  explicit JsonLexer(std::string_view text);

  JsonToken next();

  // What the last token was.
  char last() const { return at_ == 0 ? '\0' : text_[at_ - 1]; }  ///< its last character; of a mark: the mark
  std::string_view raw() const { return text_.substr(start_, at_ - start_); }
  bool boolean() const { return text_[start_] == 't'; }
  std::int64_t integer() const { return integer_; }
  double number() const { return number_; }
  std::string& text() { return string_; }

  bool ended() const { return ended_; }         ///< something was read for behind the end
  std::size_t position() const { return at_; }  ///< characters read

 private:
  int read();
  bool accept(char c);
  bool digits();
  JsonToken word(std::string_view rest, JsonToken token);
  JsonToken read_number();
  JsonToken read_text();
  bool read_escape();
  int read_code_unit();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
  bool ended_ = false;
  std::int64_t integer_ = 0;
  double number_ = 0;
  std::string string_;
};

}  // namespace trainmem
