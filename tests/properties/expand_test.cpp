// The recording that is written out of a folded one is the one of a run of all layers, event for event.
#include "engine/tape/expand.h"

#include <cstdlib>
#include <string>

#include "engine/blocks/layer_slots.h"
#include "engine/codec/link.h"
#include "engine/config/deepspeed.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/random_config.h"

using namespace trainmem;

namespace {

bool same(const StorageRecord& a, const StorageRecord& b) {
  return a.bytes == b.bytes && a.stream == b.stream && a.component == b.component && a.dtype == b.dtype &&
         a.rank == b.rank && a.layer == b.layer && a.place == b.place && a.shape == b.shape && a.made_by == b.made_by &&
         a.kept_by == b.kept_by && a.role == b.role;
}

/// Index of the first storage that differs; -1: none.
std::int64_t first_difference(const Recording& a, const Recording& b) {
  for (std::size_t i = 0; i < a.storages.size() && i < b.storages.size(); ++i)
    if (!same(a.storages[i], b.storages[i])) return static_cast<std::int64_t>(i);
  return a.storages.size() == b.storages.size() ? -1 : 0;
}

/// Place and layer of every event.
std::vector<std::pair<std::uint32_t, std::int32_t>> places(const Recording& tape) {
  std::vector<std::pair<std::uint32_t, std::int32_t>> result(tape.events.size());
  for (std::size_t i = 0; i < tape.place_marks.size(); ++i) {
    const std::size_t end = i + 1 < tape.place_marks.size() ? tape.place_marks[i + 1].first_event : result.size();
    for (std::size_t event = tape.place_marks[i].first_event; event < end; ++event)
      result[event] = {tape.place_marks[i].place, tape.place_marks[i].layer};
  }
  return result;
}

bool has_repeats(const Recording& folded) {
  for (const RepeatMark& mark : folded.repeats)
    if (mark.layer >= 0 && mark.times.recorded() > 1) return true;
  return false;
}

void check_same(const Recording& written, const Recording& full) {
  REQUIRE(written.events == full.events);
  REQUIRE(first_difference(written, full) == -1);
  REQUIRE(places(written) == places(full));
  REQUIRE(written.phases.size() == full.phases.size());
  for (std::size_t phase = 0; phase < full.phases.size(); ++phase)
    REQUIRE(written.phases[phase].first_event == full.phases[phase].first_event);
}

}  // namespace

TEST_CASE("property: a folded recording is written out as the run of all layers, event for event") {
  Random random(81);
  int expanded = 0;
  int refused = 0;
  for (int i = 0; i < 250; ++i) {
    Config config = random_valid_config(random);
    const Recipe& recipe = config.recipe;
    if (recipe.framework == Framework::megatron || uses_zero(recipe) || recipe.pipeline_parallel > 1) continue;
    const Recording folded = run_training(config, {.steps = 2, .fold = true});
    if (!has_repeats(folded)) continue;
    INFO(format_link(config));
    Recording written;
    if (!expand(folded, written)) {
      CHECK(config.recipe.fsdp_forward_prefetch);  // weights gathered ahead live for three layers
      ++refused;
      continue;
    }
    ++expanded;
    check_same(written, run_training(config, {.steps = 2, .short_accumulation = true}));
  }
  INFO(expanded << " written out, " << refused << " refused");
  CHECK(expanded > 40);
  CHECK(10 * refused < expanded);
}

TEST_CASE("expand: layers that take turns, all through a model or within an irregular pattern, are written out") {
  // The layers that run: all but the turns between the first, the second and the last.
  const auto [model, layers] = GENERATE(table<std::string, std::size_t>(
      {{"minimax-text-01", 80 - 7 * 8},
       {"gemma3-27b", 62 - 7 * 6},                      // 10 turns, and two layers
       {"mimo-v2-flash", 48 - 4 * 6},                   // 7 turns after five layers, and one layer
       {"nemotron-3-nano-30b-a3b", 52 - 2 * 7},         // 5 turns at the beginning
       {"nemotron-3-super-120b-a12b", 88 - 2 * 11}}));  // 5 turns from the 18th layer on
  const std::string recipe = GENERATE("", "&recompute=full", "&dp_kind=fsdp&dp=8&precision=fsdp_bf16",
                                      "&dp_kind=ddp&dp=8&ga=4&precision=bf16_autocast");
  const ReadConfig read = parse_link("v=1&model=" + model + "&gpu=h100-sxm&seq=512" + recipe + "&end");
  CAPTURE(model, recipe);
  REQUIRE(read.issues.empty());
  CHECK(layer_slots(read.config.model, read.config.recipe, true).size() == layers);
  const Recording folded = run_training(read.config, {.steps = 2, .fold = true});
  REQUIRE(has_repeats(folded));
  Recording written;
  REQUIRE(expand(folded, written));
  const Recording full = run_training(read.config, {.steps = 2, .short_accumulation = true});
  check_same(written, full);
}
