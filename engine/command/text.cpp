#include "engine/command/text.h"

#include <cmath>
#include <cstdio>

namespace trainmem {

std::string gibibytes(Bytes bytes) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string left(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : text + std::string(width - text.size(), ' ');
}

std::string right(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string fit(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string bar(Bytes part, Bytes whole, int width) {
  if (part <= 0 || whole <= 0) return "";
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  return std::string(static_cast<std::size_t>(std::lround(share * width)), '#');
}

std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return line.empty() ? out : out + line + "\n";
}

std::string issue_line(const Issue& issue) {
  std::string line = issue.path.empty() ? "" : issue.path + ": ";
  line += issue.message;
  if (!issue.hint.empty()) line += " " + issue.hint;
  if (!issue.hint.empty() && issue.code == "unknown_preset") line += " `trainmem presets` lists all.";
  return line + "\n";
}

}  // namespace trainmem
