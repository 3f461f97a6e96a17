// Look-ups over the embedded presets.
#include "engine/presets/presets.h"

#include <algorithm>

#include "engine/text/nearest_words.h"

namespace trainmem {
namespace {

/// What follows `key` in the preset's text; empty if it has no such key.
std::string_view after(const PresetText& preset, std::string_view key) {
  const std::size_t at = preset.json.find(key);
  return at == std::string_view::npos ? std::string_view() : preset.json.substr(at + key.size());
}

/// Whether `is` holds for the text that `text_key` names, or for one of the list that `list_key` names.
template <typename Predicate>
bool any_name(const PresetText& preset, std::string_view text_key, std::string_view list_key, Predicate is) {
  const std::string_view own = after(preset, text_key);
  if (!own.empty() && is(own.substr(0, own.find('"')))) return true;
  std::string_view list = after(preset, list_key);
  list = list.substr(0, list.find(']'));
  while (!list.empty()) {
    const std::string_view quoted = list.substr(0, list.find(','));
    if (is(quoted.substr(1, quoted.size() - 2))) return true;
    list.remove_prefix(std::min(list.size(), quoted.size() + 1));
  }
  return false;
}

template <typename Predicate>
bool any_hub_name(const PresetText& preset, Predicate is) {
  return any_name(preset, R"("hugging_face_id":")", R"("checkpoints":[)", is);
}

/// Drivers report some names with their vendor's, older ones the same names without.
std::string_view without_vendor(std::string_view device) {
  for (const std::string_view vendor : {"NVIDIA ", "AMD "}) {
    if (same_word(device.substr(0, vendor.size()), vendor)) return device.substr(vendor.size());
  }
  return device;
}

/// Its id, its name in lists, and those that drivers report of a GPU.
bool is_called(const PresetText& preset, std::string_view name) {
  return same_word(preset.id, name) ||
         any_name(preset, R"("name":")", R"("device_names":[)",
                  [&](std::string_view own) { return same_word(without_vendor(own), without_vendor(name)); });
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
  const bool hub_name = id.find('/') != std::string_view::npos;
  for (const PresetText& preset : presets) {
    if (hub_name ? any_hub_name(preset, [&](std::string_view name) { return same_word(name, id); })
                 : is_called(preset, id))
      return &preset;
  }
  return nullptr;
}

const PresetText* find_checkpoint(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const auto models = model_presets();
  if (const PresetText* named = find_preset(models, path)) return named;
  const std::string_view folder = path.substr(path.rfind('/') + 1);
  if (folder.empty()) return nullptr;
  for (const PresetText& preset : models) {
    const auto ends = [&](std::string_view name) { return same_word(name.substr(name.rfind('/') + 1), folder); };
    if (same_word(preset.id, folder) || any_hub_name(preset, ends)) return &preset;
  }
  return nullptr;
}

}  // namespace trainmem
