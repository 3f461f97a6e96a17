// What a first visit sees, for the build to draw it into the page (pages/first_view.js).

import { recordedEngine } from './engine.js';
import { complete, type Recorded } from './recorded.js';
import { calculatorStyles } from './styles/calculator.js';
import { TrainmemCalculator } from './trainmem-calculator.js';

export const sheets = calculatorStyles.map(sheet => sheet.cssText);

export function draw(recorded: Recorded): unknown {
  complete(recorded);
  const element = new TrainmemCalculator();
  element.page = true;
  element.calculator.start(recordedEngine(recorded));
  // biome-ignore lint/complexity/useLiteralKeys: the method is the element's own
  return element['render']();
}
