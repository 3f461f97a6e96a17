// The engine's border for JavaScript: text in, text out. Nothing here computes, throws or holds anything.
#include <emscripten/bind.h>

#include "engine/border/border.h"

EMSCRIPTEN_BINDINGS(trainmem) {
  emscripten::function("estimate", &trainmem::estimate);
  emscripten::function("advice", &trainmem::advice);
  emscripten::function("plan", &trainmem::plan);
  emscripten::function("sweep", &trainmem::sweep);
  emscripten::function("read_link", &trainmem::read_link);
  emscripten::function("write_link", &trainmem::write_link);
  emscripten::function("write_comparison", &trainmem::write_comparison);
  emscripten::function("read_settings", &trainmem::read_settings);
  emscripten::function("write_settings", &trainmem::write_settings);
  emscripten::function("read_measurement", &trainmem::read_measurement);
  emscripten::function("presets", &trainmem::presets);
  emscripten::function("version", &trainmem::version);
}
