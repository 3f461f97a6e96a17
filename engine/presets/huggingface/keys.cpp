#include "engine/presets/huggingface/keys.h"

#include <algorithm>

#include "engine/config/text.h"
#include "engine/text/issue_text.h"

namespace trainmem {
namespace {

bool is_number_in_quotes(const HuggingFaceValue& value) {
  return is_number_text(value.text, false) || value.text == "true" || value.text == "false";
}

/// "auto" leaves the number to the class.
bool is_wrong_text(const HuggingFaceValue& value) {
  return value.kind == HuggingFaceValue::Kind::text && value.text != "auto";
}

}  // namespace

const HuggingFaceValue* HuggingFaceKeys::find_number(Names names) const {
  const HuggingFaceValue* value = find(names);
  if (value == nullptr || !is_wrong_text(*value)) return value;
  const auto* entry =
      &*std::find_if(config_.begin(), config_.end(), [&](const Entry& one) { return &one.second == value; });
  if (std::find(texts_.begin(), texts_.end(), entry) == texts_.end()) texts_.push_back(entry);
  return nullptr;
}

void HuggingFaceKeys::report_texts(Issues& issues) const {
  for (const Entry* entry : texts_) {
    std::string path;
    std::string_view rest = entry->first;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      append_pointer(path, rest.substr(0, dot));
      rest.remove_prefix(dot + 1);
    }
    append_pointer(path, rest);
    issues.push_back({"wrong_type", path,
                      in_quotes(rest) + " is the text " + in_quotes(entry->second.text) + ", not a number.",
                      is_number_in_quotes(entry->second) ? "Write it without the quotes." : "Give a number."});
  }
}

}  // namespace trainmem
