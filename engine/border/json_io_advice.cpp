// Advice as JSON: advice.h's members, each change also as what it sets.
#include "engine/border/json_io_advice.h"

#include "engine/border/json_io_bytes.h"
#include "engine/border/json_io_result.h"
#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "engine/config/fields.h"
#include "engine/config/json_fields.h"
#include "engine/config/words.h"
#include "engine/text/json_writer.h"

namespace trainmem {

namespace {

void write(const Diagnosis& diagnosis, JsonWriter& out) {
  out.open_object();
  out.key("question").text(diagnosis.question);
  out.key("yes").boolean(diagnosis.yes);
  out.key("bytes").integer(diagnosis.bytes);
  out.key("of").integer(diagnosis.of);
  out.key("sentence").text(diagnosis.sentence);
  out.close_object();
}

void write(const Change& change, JsonWriter& out) {
  out.key("id").text(change.id);
  out.key("title").text(change.title);
  out.key("meaning").text(change.meaning);
  out.key("cost").text(name(change.cost));
  out.key("cost_words").text(change.cost_words);
  out.key("source").text(change.source);
}

void write_after(const Config& before, const Config& after, const Outcome& outcome, JsonWriter& out) {
  write_sets(before, after, out);
  out.key("config").raw(write_config_differences(after));
  out.key("link").text(format_link(after));
  out.key("after");
  write_outcome(outcome, out);
}

}  // namespace

void write_sets(const Config& before, const Config& after, JsonWriter& out) {
  out.key("sets").open_array();
  for (const Field& field : config_fields()) {
    if (same(field, before, after)) continue;
    out.open_object();
    out.key("path").text(field.path);
    write_value(field, before, out.key("from"));
    write_value(field, after, out.key("to"));
    out.close_object();
  }
  out.close_array();
}

void write_outcome(const Outcome& outcome, JsonWriter& out) {
  out.open_object();
  out.key("allocated").integer(outcome.allocated);
  write_range(outcome.reserved, out.key("reserved"));
  write_range(outcome.device, out.key("device"));
  if (outcome.host > 0) out.key("host").integer(outcome.host);
  write_components(outcome.components, out.key("components"));
  out.key("verdict").raw(write_verdict(outcome.verdict));
  out.key("num_gpus").integer(outcome.num_gpus);
  out.key("parameters").integer(outcome.parameters);
  out.close_object();
}

std::string write_advice(const Config& config, const Advice& advice) {
  JsonWriter out;
  out.open_object();
  out.key("diagnoses").open_array();
  for (const Diagnosis& diagnosis : advice.diagnoses) write(diagnosis, out);
  out.close_array();
  out.key("suggestions").open_array();
  for (const Suggestion& suggestion : advice.suggestions) {
    out.open_object();
    write(*suggestion.change, out);
    out.key("saved").integer(suggestion.saved);
    write_after(config, suggestion.config, suggestion.after, out);
    out.close_object();
  }
  out.close_array();
  out.key("remedies").open_array();
  for (const Remedy& remedy : advice.remedies) {
    out.open_object();
    out.key("changes").open_array();
    for (const Change* change : remedy.changes) {
      out.open_object();
      write(*change, out);
      out.close_object();
    }
    out.close_array();
    write_after(config, remedy.config, remedy.after, out);
    out.close_object();
  }
  out.close_array();
  out.close_object();
  return out.take();
}

std::string write_plan(const Config& config, std::int64_t num_gpus, const Plan& plan) {
  JsonWriter out;
  out.open_object();
  out.key("num_gpus").integer(num_gpus);
  out.key("tried").integer(plan.tried);
  out.key("fitting").integer(plan.fitting);
  out.key("layouts").open_array();
  for (const Layout& layout : plan.layouts) {
    const Recipe& r = layout.config.recipe;
    out.open_object();
    out.key("repeated_arithmetic").number(layout.repeated_arithmetic);
    out.key("waiting").number(layout.waiting);
    out.key("tensor_parallel").integer(r.tensor_parallel);
    out.key("pipeline_parallel").integer(r.pipeline_parallel);
    out.key("context_parallel").integer(r.context_parallel);
    out.key("expert_parallel").integer(r.expert_parallel);
    out.key("data_parallel").text(word(r.data_parallel));
    out.key("data_parallel_size").integer(r.data_parallel_size);
    out.key("recomputation").text(word(r.recomputation));
    out.key("micro_batch_size").integer(r.micro_batch_size);
    out.key("gradient_accumulation_steps").integer(r.gradient_accumulation_steps);
    write_after(config, layout.config, layout.after, out);
    out.close_object();
  }
  out.close_array();
  out.close_object();
  return out.take();
}

}  // namespace trainmem
