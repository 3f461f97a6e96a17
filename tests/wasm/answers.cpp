// Reads requests, one a line: the name of a border function, a space, its text. Writes every answer as its length in
// bytes, a line break, and the text. tests/wasm compares them with the answers of the wasm module.
#include <cstdio>
#include <iostream>
#include <string>

#include "engine/border/border.h"

namespace {

std::string answer(const std::string& function, const std::string& text) {
  if (function == "estimate") return trainmem::estimate(text);
  if (function == "read_link") return trainmem::read_link(text);
  if (function == "write_link") return trainmem::write_link(text);
  if (function == "presets") return trainmem::presets();
  if (function == "version") return trainmem::version();
  return "there is no function " + function;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::string::size_type space = line.find(' ');
    const std::string text = space == std::string::npos ? "" : line.substr(space + 1);
    const std::string reply = answer(line.substr(0, space), text);
    std::printf("%zu\n%s\n", reply.size(), reply.c_str());
  }
}
