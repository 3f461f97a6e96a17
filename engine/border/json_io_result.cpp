// From a result to JSON: the members of result.h and `least`, which follows from them; enumerations as their names.
#include "engine/border/json_io_result.h"

#include "engine/border/json_io_bandwidth.h"
#include "engine/border/json_io_bytes.h"
#include "engine/text/json_writer.h"
#include "engine/verdict.h"

namespace trainmem {
namespace {

void write(const Row& row, JsonWriter& out) {
  out.open_object();
  out.key("name").text(row.name);
  out.key("shape").text(row.shape);
  out.key("dtype").text(row.dtype);
  out.key("elements").integer(row.elements);
  out.key("element_bytes").number(row.element_bytes);
  out.key("copies").integer(row.copies);
  out.key("bytes").integer(row.bytes);
  out.key("component").text(name(row.component));
  out.key("why").text(row.why);
  out.key("formula").text(row.formula);
  out.key("source").text(row.source);
  out.key("kind").text(name(row.kind));
  out.close_object();
}

void write(const PhasePeak& phase, JsonWriter& out) {
  out.open_object();
  out.key("phase").text(name(phase.phase));
  out.key("peak").integer(phase.peak);
  out.key("end").integer(phase.end);
  write_components(phase.components, out.key("components"));
  out.close_object();
}

void write(const TimelinePoint& point, JsonWriter& out) {
  out.open_object();
  out.key("phase").text(name(point.phase));
  out.key("where").text(point.where);
  out.key("allocated").integer(point.allocated);
  write_components(point.components, out.key("components"));
  out.close_object();
}

void write(const Stage& stage, JsonWriter& out) {
  out.open_object();
  out.key("index").integer(stage.index);
  out.key("layers").integer(stage.layers);
  out.key("micro_batches_in_flight").integer(stage.micro_batches_in_flight);
  out.key("parameters").integer(stage.parameters);
  out.key("allocated").integer(stage.allocated);
  write_components(stage.components, out.key("components"));
  out.key("worst").boolean(stage.worst);
  out.close_object();
}

void write(const RuntimeRow& row, JsonWriter& out) {
  out.open_object();
  out.key("name").text(row.name);
  write_range(row.bytes, out.key("bytes"));
  out.key("why").text(row.why);
  out.key("source").text(row.source);
  out.close_object();
}

void write(const AtCapacity& at_capacity, JsonWriter& out) {
  out.open_object();
  out.key("limit").integer(at_capacity.limit);
  out.key("reserved").integer(at_capacity.reserved);
  out.key("retries").integer(at_capacity.retries);
  out.key("retries_of_last_step").integer(at_capacity.retries_of_last_step);
  out.key("requested").integer(at_capacity.requested);
  out.key("allocated").integer(at_capacity.allocated);
  out.close_object();
}

void write(const Verdict& verdict, JsonWriter& out) {
  out.open_object();
  out.key("fit").text(name(verdict.fit));
  out.key("capacity").integer(verdict.capacity);
  out.key("margin").integer(verdict.margin);
  out.key("sentence").text(verdict.sentence);
  if (verdict.at_capacity) write(*verdict.at_capacity, out.key("at_capacity"));
  out.close_object();
}

void write(const TextbookLine& line, JsonWriter& out) {
  out.open_object();
  out.key("method").text(line.method);
  out.key("formula").text(line.formula);
  out.key("bytes").integer(line.bytes);
  out.key("source").text(line.source);
  out.key("leaves_out").text(line.leaves_out);
  out.close_object();
}

void write(const std::string& sentence, JsonWriter& out) { out.text(sentence); }

template <class List>
void write_list(const char* key, const List& list, JsonWriter& out) {
  out.key(key).open_array();
  for (const auto& item : list) write(item, out);
  out.close_array();
}

}  // namespace

std::string write_verdict(const Verdict& verdict) {
  JsonWriter out;
  write(verdict, out);
  return out.take();
}

std::string write_result(const Result& result) {
  JsonWriter out;
  out.open_object();
  out.key("allocated").integer(result.allocated);
  write_range(result.reserved, out.key("reserved"));
  write_range(result.device, out.key("device"));
  out.key("least").integer(least_needed(result));
  if (result.host > 0) out.key("host").integer(result.host);
  out.key("peak_phase").text(name(result.peak_phase));
  out.key("peak_where").text(result.peak_where);
  write_components(result.components, out.key("components"));
  write_list("rows", result.rows, out);
  write_list("phases", result.phases, out);
  write_list("timeline", result.timeline, out);
  write_list("stages", result.stages, out);
  write_list("runtime", result.runtime, out);
  write(result.verdict, out.key("verdict"));
  write_list("textbook", result.textbook, out);
  write_bandwidth(result.bandwidth, out.key("bandwidth"));
  out.key("parameters").integer(result.parameters);
  out.key("active_parameters").integer(result.active_parameters);
  out.key("trainable_parameters").integer(result.trainable_parameters);
  out.key("num_gpus").integer(result.num_gpus);
  out.key("global_batch_size").integer(result.global_batch_size);
  write_list("not_counted", result.not_counted, out);
  out.close_object();
  return out.take();
}

}  // namespace trainmem
