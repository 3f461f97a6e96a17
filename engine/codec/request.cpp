#include "engine/codec/request.h"

#include "engine/codec/comparison.h"
#include "engine/codec/link.h"

namespace trainmem {

bool is_json(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && (text[start] == '{' || text[start] == '[' || text[start] == '"');
}

ReadConfig read_request_text(std::string_view text) {
  if (is_json(text)) return read_config(text);
  return is_comparison(text) ? parse_comparison(text).b : parse_link(text);
}

}  // namespace trainmem
