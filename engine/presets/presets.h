// The presets inside the program: every file of presets/, without its prose.
//
// presets/*.json are the only source. engine/presets/embed.cmake turns them into a generated source file, so the
// native program and the page hold the same texts. Sources, notes and published counts stay in the files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainmem {

struct PresetText {
  std::string_view id;    ///< the file's name without .json
  std::string_view json;  ///< one JSON object, minified
};

/// Sorted by id, numbers by value; the texts live as long as the program.
std::span<const PresetText> model_presets();
std::span<const PresetText> gpu_presets();
std::span<const PresetText> recipe_presets();
std::span<const PresetText> optimizer_presets();
std::span<const PresetText> memory_technology_presets();

/// The preset of that id, or of that name in lists ("GeForce RTX 4090"); case and separators do not matter. A model
/// also by its name on the Hugging Face hub ("meta-llama/Llama-3.1-8B") and by those of its other checkpoints
/// ("meta-llama/Llama-3.1-8B-Instruct"). A GPU also by what its driver reports, with its vendor or without
/// (torch.cuda.get_device_name(), nvidia-smi: "NVIDIA H100 80GB HBM3"). Null if there is none.
const PresetText* find_preset(std::span<const PresetText> presets, std::string_view id);

/// The model that a run is to load, as launch settings name it: as find_preset does, or by the last part of a path
/// where that is a checkpoint's name ("/data/Llama-3.1-8B-Instruct/"). Null if there is none.
const PresetText* find_checkpoint(std::string_view path);

/// Ids for "did you mean": at most `count`, nearest first, none that has little in common with `id`. Of a name with a
/// slash, as models have on the Hugging Face hub, what follows the slash is compared.
std::vector<std::string> nearest_presets(std::span<const PresetText> presets, std::string_view id, int count = 3);

}  // namespace trainmem
