#include "engine/command/files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "engine/codec/link.h"
#include "engine/codec/request.h"
#include "engine/text/issue_text.h"

namespace trainmem {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_text = 1 << 20;  // the readers refuse far shorter texts

std::string read_stream(std::istream& stream) {
  std::string text;
  for (std::istreambuf_iterator<char> at(stream), end; at != end && text.size() < longest_text; ++at) text += *at;
  return text;
}

}  // namespace

Input read_input(const Arguments& arguments) {
  if (!arguments.parts.empty() && arguments.words.empty()) {
    std::string link;
    for (const auto& [key, value] : arguments.parts) {
      link += (link.empty() ? "" : "&") + percent_encode(key) + "=" + percent_encode(value);
    }
    return {link, {}};
  }
  if (arguments.words.empty() || arguments.words[0] == "-") return {read_stream(std::cin), {}};
  const std::string& word = arguments.words[0];
  std::error_code failure;
  if (fs::exists(word, failure) && !fs::is_directory(word, failure)) {  // a pipe is one too: <(command)
    std::ifstream file(word, std::ios::binary);
    if (file) return {read_stream(file), {}};
  }
  if (is_json(word) || word.find('=') != std::string::npos) return {word, {}};
  return {"",
          {{"no_file", "", "There is no file " + in_quotes(word) + ".",
            "Name a file, or give a link such as \"model=llama2-7b&gpu=h100-sxm\"."}}};
}

std::vector<PresetFile> preset_files(const std::string& folder) {
  std::vector<PresetFile> files;
  std::error_code failure;
  for (const auto& kind : fs::directory_iterator(folder, failure)) {
    if (!kind.is_directory()) continue;
    for (const auto& path : fs::directory_iterator(kind.path(), failure)) {
      if (!path.is_regular_file(failure)) continue;
      std::ifstream file(path.path(), std::ios::binary);
      files.push_back({kind.path().filename().string(), path.path().filename().string(), read_stream(file)});
    }
  }
  std::sort(files.begin(), files.end(), [](const PresetFile& a, const PresetFile& b) {
    return a.folder != b.folder ? a.folder < b.folder : a.name < b.name;
  });
  return files;
}

}  // namespace trainmem
