// The engine speaks of fields by their names in a configuration, the page by what stands beside them.

import { fieldLabel } from '../fields.js';
import { fieldName } from '../option_labels.js';
import type { View } from './view.js';

export function plainly({ calculator }: View, text: string): string {
  const { fields } = calculator.state.engine!.presets;
  return text.replace(/\b[a-z]+(_[a-z0-9]+)+\b/g, name => {
    const field = fields.find(one => fieldName(one) === name);
    return field ? `“${fieldLabel(field)}”` : name;
  });
}
