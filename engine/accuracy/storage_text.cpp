#include "engine/accuracy/storage_text.h"

#include "engine/tensor/tensor.h"

namespace trainmem {

std::string storage_text(const Recording& recording, const StorageRecord& storage) {
  std::string text = storage.place < recording.places.size() ? recording.places[storage.place] : std::string();
  if (storage.made_by != nullptr) text += std::string(": ") + storage.made_by->name;
  if (storage.role != nullptr) text += std::string(" '") + storage.role + "'";
  text += " ";
  for (int i = 0; i < storage.rank; ++i) {
    text += (i == 0 ? "" : "x") + std::to_string(storage.shape[static_cast<std::size_t>(i)]);
  }
  return text;
}

}  // namespace trainmem
