// The model that an objective trains.
#pragma once

#include "engine/config.h"

namespace trainmem {

/// Whether the family has a class that scores sequences, made as most are: transformers
/// AutoModelForSequenceClassification, modeling_layers.py: GenericForSequenceClassification.
bool can_score_sequences(const Model& model);

/// With objective reward a score of each sequence stands in place of the head; else the model as it is.
Model trained_model(const Config& config);

}  // namespace trainmem
