// Look-ups over the embedded presets.
#include "engine/presets/presets.h"

#include "engine/text/nearest_words.h"

namespace trainmem {
namespace {

/// A model's name on the Hugging Face hub; empty if it has none.
std::string_view hugging_face_id(const PresetText& preset) {
  constexpr std::string_view key = R"("hugging_face_id":")";
  const std::size_t at = preset.json.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + key.size();
  return preset.json.substr(begin, preset.json.find('"', begin) - begin);
}

}  // namespace

std::vector<std::string> nearest_presets(std::span<const PresetText> presets, std::string_view id, int count) {
  std::vector<std::string_view> ids;
  for (const PresetText& preset : presets) ids.push_back(preset.id);
  return nearest_words(ids, id.substr(id.find('/') + 1), count);
}

const PresetText* find_preset(std::span<const PresetText> presets, std::string_view id) {
  for (const PresetText& preset : presets) {
    if (preset.id == id) return &preset;
  }
  if (id.find('/') == std::string_view::npos) return nullptr;
  for (const PresetText& preset : presets) {
    if (same_word(hugging_face_id(preset), id)) return &preset;
  }
  return nullptr;
}

}  // namespace trainmem
