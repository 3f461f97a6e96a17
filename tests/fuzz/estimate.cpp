// libFuzzer target: any bytes as a request. The border must answer, and its link must be read back unchanged.
//
//   build/asan/fuzz_estimate -dict=tests/fuzz/words.dict -max_len=2000 tests/fuzz/corpus
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/border/border.h"
#include "engine/codec/link.h"

namespace {

void require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

bool is_answer(const std::string& text) {
  return text.rfind("{\"ok\":true,", 0) == 0 || text.rfind("{\"ok\":false,", 0) == 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string& answer :
       {trainmem::estimate(text), trainmem::read_link(text), trainmem::write_link(text), trainmem::read_settings(text),
        trainmem::write_settings(text), trainmem::read_measurement(text)}) {
    require(is_answer(answer), "no answer", answer);
    require(answer.find("\"code\":\"internal\"") == std::string::npos, "failed inside", answer);
  }
  const std::string link = trainmem::format_link(trainmem::parse_link(text).config);
  require(trainmem::format_link(trainmem::parse_link(link).config) == link, "not canonical", link);
  return 0;
}
