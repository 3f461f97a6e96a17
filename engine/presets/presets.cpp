// Look-ups over the embedded presets.
#include "engine/presets/presets.h"

#include "engine/text/nearest_words.h"

namespace trainmem {

std::vector<std::string> nearest_presets(std::span<const PresetText> presets, std::string_view id, int count) {
  std::vector<std::string_view> ids;
  for (const PresetText& preset : presets) ids.push_back(preset.id);
  return nearest_words(ids, id, count);
}

const PresetText* find_preset(std::span<const PresetText> presets, std::string_view id) {
  for (const PresetText& preset : presets) {
    if (preset.id == id) return &preset;
  }
  return nullptr;
}

}  // namespace trainmem
